"""Where the program lies, and how it is started.

It is always waited for, so that nothing is left behind.
"""

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, List, Mapping, Optional, Union

Word = Union[str, "os.PathLike[str]"]
"""A word of a command line."""

_NAME = "iodyno"


class IodynoError(Exception):
    """What this module raises."""


class ProgramMissing(IodynoError):
    """The program is not where it was looked for."""


class RunFailed(IodynoError):
    """The program refused or ended without a result.

    `status` is its exit status (negative: the signal that ended it), `messages` what it wrote to standard error.
    """

    def __init__(self, words: List[str], status: int, messages: str, reason: str = "") -> None:
        self.words = words
        self.status = status
        self.messages = messages
        said = messages.strip() or reason or "it said nothing"
        super().__init__(f"iodyno {' '.join(words)}: exit status {status}: {said}")


def find_program() -> str:
    """The path of the program: that in `IODYNO`, the one of this package, or the one on `PATH`.

    Raises `ProgramMissing` where there is none, or where `IODYNO` names none.
    """
    named = os.environ.get("IODYNO")
    if named:
        if not _is_program(Path(named)):
            raise ProgramMissing(f"IODYNO={named}: no program lies there")
        return named
    for candidate in _beside_this_package():
        if _is_program(candidate):
            return str(candidate)
    found = shutil.which(_NAME)
    if found is None:
        raise ProgramMissing(
            "the program iodyno is neither in this package nor on PATH\n"
            " hint: pip install iodyno, or set IODYNO to its path"
        )
    return found


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _beside_this_package() -> Iterator[Path]:
    """Where installers put the program of the wheel that this module came with."""
    schemes = ["", f"{os.name}_user", "osx_framework_user"]
    for scheme in schemes:
        if scheme and scheme not in sysconfig.get_scheme_names():
            continue
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        if folder:
            yield Path(folder) / _NAME
    # `pip install --target DIR`, `--prefix DIR`
    package = Path(__file__).resolve().parent
    yield package.parent / "bin" / _NAME
    if len(package.parents) > 3:
        yield package.parents[3] / "bin" / _NAME


def call(
    *words: Word,
    cwd: Optional[Word] = None,
    env: Optional[Mapping[str, str]] = None,
    check: bool = True,
) -> "subprocess.CompletedProcess[str]":
    """Runs the program with these words and returns what it printed.

    `env` has variables besides those of this process. With `check`, an exit status other than 0 raises `RunFailed`.
    """
    said = [os.fspath(word) for word in words]
    ended = wait(start(said, cwd, env))
    if check and ended.returncode != 0:
        raise RunFailed(said, ended.returncode, ended.stderr)
    return ended


def start(
    words: List[str], cwd: Optional[Word] = None, env: Optional[Mapping[str, str]] = None
) -> "subprocess.Popen[str]":
    """Starts the program; both of its streams are pipes of text.

    It leads a session of its own, so that Ctrl-C reaches it once, from `wait`, and not from a terminal as well.
    """
    variables: Dict[str, str] = {**os.environ, **(env or {})}
    return subprocess.Popen(
        [find_program(), *words],
        cwd=cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def wait(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
    """Waits for the program to end. Ctrl-C is handed on: it stops its run and says what it has; a second one ends it at once."""
    interrupted = False
    while True:
        try:
            out, err = process.communicate()
            return subprocess.CompletedProcess(process.args, process.returncode, out, err)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGKILL if interrupted else signal.SIGINT)
            interrupted = True
        except BaseException:
            process.kill()
            process.wait()
            raise


@lru_cache(maxsize=None)
def drop_ins(program: str) -> FrozenSet[str]:
    """The names of tools that the program stands in for: they take `--also json=FILE`, all others `--json`.

    The program is asked, so that a newer one may have more of them.
    """
    with tempfile.TemporaryDirectory(prefix="iodyno-") as folder:
        asked = subprocess.run(
            [program, "links", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )
        if asked.returncode != 0:
            raise RunFailed(["links", folder], asked.returncode, asked.stderr)
        return frozenset(entry.name for entry in Path(folder).iterdir())


@lru_cache(maxsize=None)
def json_option(program: str, command: str) -> str:
    """How a command of iodyno gives JSON, by its own help: `"file"`, `"printed"`, or `""` where it has none."""
    asked = subprocess.run([program, command, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if asked.returncode != 0:
        raise RunFailed([command], asked.returncode, asked.stderr)
    if re.search(r"--json[ =]<?FILE", asked.stdout):
        return "file"
    return "printed" if re.search(r"--json\b", asked.stdout) else ""
