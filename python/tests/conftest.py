"""A history and a folder of its own for every test; no test measures this machine: all run on a simulated device."""

from pathlib import Path

import pytest

import iodyno

JOB = """\
[global]
filename=data
size=16m
bs=4k
iodepth=4
ioengine=libaio
direct=1
[mixed]
rw=randrw
[written]
stonewall
rw=write
bs=1m
"""


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IODYNO_HISTORY", str(tmp_path / "history.sqlite"))
    monkeypatch.delenv("IODYNO_ALSO", raising=False)
    (tmp_path / "job.fio").write_text(JOB)


@pytest.fixture
def run() -> iodyno.Run:
    return iodyno.run("fio", "job.fio", also="on=nvme-ssd")
