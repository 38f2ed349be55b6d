"""`iodyno.runs`: what is kept, and what was asked for."""

import iodyno


def test_a_named_run_is_kept_and_read_again() -> None:
    assert iodyno.runs() == []
    iodyno.run("fio", "job.fio", also="on=nvme-ssd")
    assert iodyno.runs() == [], "a drop-in's run is kept only by name"
    run = iodyno.run("fio", "job.fio", also="on=nvme-ssd", tag="before")
    (entry,) = iodyno.runs(tool="fio", tag="before")
    assert entry.tags == ("before",) and entry.state == "complete" and entry.words[0] == "fio"
    assert entry.load().rows() == run.rows()


def test_filters_are_handed_on() -> None:
    for name in ("first", "second"):
        iodyno.run("fio", "job.fio", also="on=nvme-ssd", tag=name)
    assert [entry.tags for entry in iodyno.runs(last=1)] == [("second",)]
    assert iodyno.runs(tool="ior") == [] and len(iodyno.runs(since="2h", last=0)) == 2


def test_another_history_is_named_by_the_environment(tmp_path: object) -> None:
    other = {"IODYNO_HISTORY": f"{tmp_path}/other.sqlite"}
    iodyno.run("fio", "job.fio", also="on=nvme-ssd", tag="there", env=other)
    assert iodyno.runs() == []
    (entry,) = iodyno.runs(env=other)
    assert entry.load(env=other).completed
