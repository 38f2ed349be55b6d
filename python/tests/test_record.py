"""Records: their tables, their findings, files that are none; charts by their points."""

import json
from pathlib import Path
from typing import Any, Dict

import pytest

import iodyno
from iodyno import _plot


def document(**fields: Any) -> Dict[str, Any]:
    row = {"reads": 2, "read_bytes": 8192, "writes": 2, "write_bytes": 8192, "latency_sum_ns": 8000}
    line = {
        "label": "read",
        "verb": "read",
        "operations": 4,
        "latency": {"mean_ns": 2000.0, "percentiles": [{"percent": 99.9, "ns": None}], "buckets": [[0, 999, 1], [1000, 3000, 3]]},
    }
    series = {"interval_ns": 500_000_000, "rows": [row, {"reads": 0}]}
    job = {"name": "j", "lines": [line], "series": series, "comparable": {"depth": 4}}
    points = [{"parameter": "depth", "value": "4"}, {"parameter": "block", "value": "8k"}]
    phase = {"name": "p", "repetition": 1, "coordinates": points, "jobs": [job]}
    return {"schema": "iodyno.record/1", "name": "n", "phases": [phase], "findings": [], **fields}


def test_rows_are_those_of_the_record(run: iodyno.Run) -> None:
    rows = run.rows()
    assert [(row["phase"], row["job"], row["verb"]) for row in rows] == [
        ("group 0", "mixed", "read"),
        ("group 0", "mixed", "write"),
        ("group 1", "written", "write"),
    ]
    assert sum(row["bytes"] for row in rows) == 32 << 20
    assert rows[0]["depth"] == 4 and rows[2]["io_bytes"] == 1 << 20
    assert 0 < rows[0]["latency_min_ns"] <= rows[0]["latency_p50_ns"] <= rows[0]["latency_p99_ns"]


def test_the_series_and_the_distribution_hold_every_operation(run: iodyno.Run) -> None:
    operations = sum(row["operations"] for row in run.rows())
    assert sum(row["reads"] + row["writes"] for row in run.series()) == operations
    assert sum(row["count"] for row in run.buckets()) == operations


def test_a_row_says_its_point_of_a_sweep_and_what_is_unknown() -> None:
    row = iodyno.Run(document()).rows()[0]
    assert row["coordinates"] == "depth=4;block=8k" and row["repetition"] == 1
    assert row["latency_p99_9_ns"] is None and row["latency_p50_ns"] is None and row["bytes"] is None


def test_findings_have_their_figures_and_what_explains_them(run: iodyno.Run) -> None:
    few = [finding for finding in run.findings if finding.kind == "few_samples"]
    assert few and few[0].code == 6 and few[0].severity == "note" and few[0].advice
    assert any(figure.name == "samples" and figure.value == 16 for finding in few for figure in finding.figures)
    assert run.table("findings")[0]["sentence"] == run.findings[0].sentence


def test_what_is_saved_is_loaded_and_nothing_is_replaced(run: iodyno.Run, tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    run.save(path)
    again = iodyno.load(path)
    assert again.document == run.document and again.findings == run.findings
    with pytest.raises(FileExistsError):
        again.save(path)


def test_a_record_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    run = iodyno.Run(document(plan=object()))
    with pytest.raises(TypeError):
        run.save(tmp_path / "half.json")
    assert not (tmp_path / "half.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "no JSON"),
        ("[]", "no document of iodyno"),
        ('{"schema": 3}', "no document of iodyno"),
        ('{"schema": "other/1"}', "no document of iodyno"),
        ('{"schema": "iodyno.record/2"}', "newer than this module"),
    ],
)
def test_files_that_are_none_are_told_with_their_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(iodyno.IodynoError, match=said) as told:
        iodyno.load(path)
    assert "wrong.json" in str(told.value)
    with pytest.raises(FileNotFoundError):
        iodyno.load(tmp_path / "absent.json")


def test_documents_of_several_runs_are_read_as_they_are() -> None:
    run = iodyno.Run({"schema": "iodyno.load-curve/1", "points": [1]})
    assert run.document["points"] == [1] and run.findings == []
    with pytest.raises(iodyno.IodynoError, match="load-curve/1 has no phases"):
        run.rows()


def test_an_unknown_table_or_chart_is_refused(run: iodyno.Run) -> None:
    with pytest.raises(ValueError, match="buckets"):
        run.table("tables")
    with pytest.raises(ValueError, match="distribution"):
        run.plot("pie")


def test_points_of_a_chart_have_units() -> None:
    run = iodyno.Run(document())
    name = "p j depth=4;block=8k pass 2"
    assert _plot.points(run, "bandwidth") == {name: ([0.5, 1.0], [16384 * 2 / 1e6, 0.0])}
    assert _plot.points(run, "operations") == {name: ([0.5, 1.0], [8.0, 0.0])}
    assert _plot.points(run, "latency") == {name: ([0.5], [2.0])}, "an interval without operations has none"
    assert _plot.points(run, "distribution") == {f"{name} read": ([0.999, 3.0], [25.0, 100.0])}


@pytest.mark.extras
def test_a_data_frame_has_the_rows(run: iodyno.Run) -> None:
    frame = run.to_pandas()
    assert len(frame) == 3 and frame["bytes"].sum() == 32 << 20
    assert len(run.to_pandas("series")) == len(run.series())


@pytest.mark.extras
@pytest.mark.parametrize("what", ["bandwidth", "operations", "latency", "distribution"])
def test_a_chart_is_an_image(run: iodyno.Run, tmp_path: Path, what: str) -> None:
    axes = run.plot(what, path=tmp_path / "chart.png")
    assert axes.get_title() == run.name
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_not_installed_is_named(run: iodyno.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pandas", "matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(iodyno.IodynoError, match=r"iodyno\[pandas\]"):
        run.to_pandas()
    with pytest.raises(iodyno.IodynoError, match=r"iodyno\[plot\]"):
        run.plot(path="chart.png")


def test_a_record_is_small_json(run: iodyno.Run) -> None:
    assert json.loads(json.dumps(run.document)) == run.document
