"""Where the program is found, in which order, and what is said where it is not."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

import iodyno
from iodyno import _program


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho found\n")
    path.chmod(0o755)
    return path


def test_the_environment_comes_first_then_the_package_then_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = program(tmp_path / "path/iodyno")
    packaged = program(tmp_path / "package/iodyno")
    named = program(tmp_path / "named")

    def beside() -> Iterator[Path]:
        yield packaged

    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setattr(_program, "_beside_this_package", beside)
    monkeypatch.setenv("IODYNO", str(named))
    assert iodyno.find_program() == str(named)
    monkeypatch.delenv("IODYNO")
    assert iodyno.find_program() == str(packaged)
    packaged.unlink()
    assert iodyno.find_program() == str(on_path)
    on_path.chmod(0o644)
    with pytest.raises(iodyno.ProgramMissing, match="pip install iodyno"):
        iodyno.find_program()


def test_a_name_that_is_no_program_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IODYNO", str(tmp_path))
    with pytest.raises(iodyno.ProgramMissing, match="IODYNO="):
        iodyno.find_program()


def test_places_of_the_package_are_those_of_installers() -> None:
    places = list(_program._beside_this_package())
    assert Path(sys.prefix) / "bin/iodyno" in places
    assert all(place.name == "iodyno" for place in places)


def test_the_module_is_the_program() -> None:
    source = {**os.environ, "PYTHONPATH": str(Path(iodyno.__file__).parents[1])}
    words = [sys.executable, "-m", "iodyno", "--version"]
    said = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", env=source)
    assert said.returncode == 0 and said.stdout == iodyno.call("--version").stdout


def test_drop_ins_are_asked_of_the_program() -> None:
    known = _program.drop_ins(iodyno.find_program())
    assert {"fio", "ior", "mdtest", "dd"} <= known and not {"measure", "run", "iodyno"} & known


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(iodyno.__file__).parent / "py.typed").is_file()
