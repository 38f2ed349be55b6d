"""`iodyno.run`: tools of other names and commands of iodyno, and what is refused."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import iodyno
from iodyno import _program

PLAN = """\
[target.disk]
nothing = "1GiB"
[[phase]]
[[phase.job]]
name = "r"
on = "disk"
engine = "sim"
settings = { preset = "disk" }
do = "read"
block = "4KiB"
until = { operations = 100 }
"""


def test_a_drop_in_brings_its_record_and_its_own_report(run: iodyno.Run) -> None:
    assert run.schema == "iodyno.record/1" and run.completed and run.status == 0
    assert "Run status group 0" in run.report
    assert [phase["name"] for phase in run.phases] == ["group 0", "group 1"]


def test_a_command_of_iodyno_writes_a_record_or_prints_json(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    run = iodyno.run("run", "plan.toml", tag="named")
    assert run.schema == "iodyno.record/1" and run.rows()[0]["job"] == "r"
    assert [entry.tags for entry in iodyno.runs()] == [("named",)]
    assert iodyno.run("whatif", "job.fio", "--on", "nvme-ssd").schema == "iodyno.whatif/1"
    with pytest.raises(ValueError, match="iodyno.call"):
        iodyno.run("plan", "plan.toml")


def test_words_of_the_environment_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IODYNO_ALSO", "on=nvme-ssd")
    assert "nvme-ssd" in iodyno.run("fio", "job.fio").name
    assert "hdd-7200" in iodyno.run("fio", "job.fio", env={"IODYNO_ALSO": "on=hdd-7200"}).name
    assert os.environ["IODYNO_ALSO"] == "on=nvme-ssd"


def test_paths_are_words() -> None:
    assert iodyno.run("fio", Path("job.fio"), also="on=nvme-ssd", cwd=Path.cwd()).completed


def test_a_wrong_command_line_is_raised_with_its_message_and_status() -> None:
    with pytest.raises(iodyno.RunFailed) as refused:
        iodyno.run("fio", "--no-such-option=1", "job.fio")
    assert refused.value.status != 0 and "no-such-option" in str(refused.value)
    with pytest.raises(iodyno.RunFailed, match="no-such-tool"):
        iodyno.run("no-such-tool")


def test_a_failed_condition_is_a_status_and_not_an_exception() -> None:
    run = iodyno.run("fio", "job.fio", also="on=nvme-ssd,fail-if=read.p99 > 1ns")
    assert run.status == 1 and run.demands[0]["failed"]


def test_json_is_what_run_reads_itself() -> None:
    with pytest.raises(ValueError, match="Run.save"):
        iodyno.run("fio", "job.fio", also="details,json=mine.json")
    with pytest.raises(ValueError, match="Run.save"):
        iodyno.run("whatif", "job.fio", "--json", "mine.json")
    with pytest.raises(ValueError, match="whatif"):
        iodyno.run("whatif", "job.fio", also="details")


def test_nothing_is_left_behind(run: iodyno.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    iodyno.run("fio", "job.fio", also="on=nvme-ssd")
    with pytest.raises(iodyno.RunFailed):
        iodyno.run("fio", "absent.fio")
    assert not list(folder.iterdir())


def test_call_gives_what_the_program_prints() -> None:
    assert iodyno.call("--version").stdout.startswith("iodyno ")
    assert iodyno.call("no-such", check=False).returncode == 2
    with pytest.raises(iodyno.RunFailed):
        iodyno.call("no-such")


def test_ctrl_c_is_handed_on_and_the_program_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit(7)); print('up', flush=True); signal.pause()"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True
    )
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    whole = process.communicate

    def interrupted() -> None:
        monkeypatch.setattr(process, "communicate", whole)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "communicate", interrupted)
    assert _program.wait(process).returncode == 7


def test_another_exception_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.pause()"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )

    def broken() -> None:
        raise MemoryError

    monkeypatch.setattr(process, "communicate", broken)
    with pytest.raises(MemoryError):
        _program.wait(process)
    assert process.returncode == -signal.SIGKILL
