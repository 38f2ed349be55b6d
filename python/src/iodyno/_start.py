"""`iodyno.run`: a tool or a command of iodyno, run to its end, and its record."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ._program import RunFailed, Word, drop_ins, find_program, json_option, start, wait
from ._record import Run


def run(
    tool: str,
    *words: Word,
    also: Optional[str] = None,
    tag: Optional[str] = None,
    cwd: Optional[Word] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Run:
    """Runs `iodyno TOOL WORDS…` to its end and reads its record.

    `also` has words of `--also` for a drop-in tool (`"on=nvme-ssd,repeat=3"`). `tag` names the run in the history, where a
    drop-in's run is kept only so. `cwd` and `env` are those of the program; `env` adds to this process's variables.

    The exit status of a run that has a record is in `Run.status`: 1 where a condition of `--fail-if` failed, or as the original
    says. Raises `RunFailed` where there is no record: the command line was refused, or nothing could be run.
    """
    said = [os.fspath(word) for word in words]
    with tempfile.TemporaryDirectory(prefix="iodyno-") as folder:
        record = Path(folder) / "record.json"
        if tool in drop_ins(find_program()):
            command, variables = _of_drop_in(tool, said, also, tag, record, env)
        else:
            command, variables = _of_command(tool, said, also, tag, record), dict(env or {})
        ended = wait(start(command, cwd, variables))
        if record.is_file():
            document = _read(record.read_text(encoding="utf-8"), [tool, *said], ended)
            return Run(document, report=ended.stdout, messages=ended.stderr, status=ended.returncode)
        if "--json" not in command:
            raise RunFailed([tool, *said], ended.returncode, ended.stderr, "it wrote no record")
        document = _read(ended.stdout, [tool, *said], ended)
        return Run(document, messages=ended.stderr, status=ended.returncode)


def _read(text: str, words: List[str], ended: "subprocess.CompletedProcess[str]") -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise RunFailed(words, ended.returncode, ended.stderr, "it wrote no record") from None


def _of_drop_in(
    tool: str,
    words: List[str],
    also: Optional[str],
    tag: Optional[str],
    record: Path,
    env: Optional[Mapping[str, str]],
) -> "Tuple[List[str], Dict[str, str]]":
    """The command line of a tool that iodyno stands in for, and the variables that ask for a record."""
    # `--json` of iperf3 is the original's own.
    if any(word.strip().startswith("json=") for word in (also or "").split(",")):
        raise ValueError("also: json= is what run() reads itself; write the record with Run.save(path)")
    if "," in str(record):
        raise ValueError(f"{record}: a comma in the path of temporary files cannot be said in --also; set TMPDIR")
    variables = dict(env or {})
    # As a variable it holds whatever the words say, also behind a `--`.
    given = variables.get("IODYNO_ALSO", os.environ.get("IODYNO_ALSO", ""))
    naming = [] if tag is None else [f"save={tag}"]
    variables["IODYNO_ALSO"] = ",".join(filter(None, [given, also, f"json={record}", *naming]))
    return [tool, *words], variables


def _of_command(tool: str, words: List[str], also: Optional[str], tag: Optional[str], record: Path) -> List[str]:
    """The command line of a command of iodyno with what asks for JSON."""
    if also is not None:
        raise ValueError(f"also={also!r}: {tool} is a command of iodyno: its own options stand in the place of --also")
    if any(word == "--json" or word.startswith("--json=") for word in words):
        raise ValueError("--json is what run() reads itself; write the record with Run.save(path)")
    how = json_option(find_program(), tool)
    if not how:
        raise ValueError(f"{tool} has no --json, so there is nothing to read\n hint: iodyno.call({tool!r}, …)")
    asking = [f"--json={record}"] if how == "file" else ["--json"]
    naming = [] if tag is None else ["--tag", tag]
    return [tool, *asking, *naming, *words]
