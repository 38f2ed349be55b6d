"""A record (`iodyno.record/1`, docs/json.md of the source): what ran, what came of it, and what may be wrong with it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from ._program import IodynoError, Word

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_SCHEMAS = "iodyno."
_RECORD = "iodyno.record/"
_VERSION = 1
_PERCENTILES = (50.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True)
class Figure:
    """A number that a finding rests on."""

    name: str
    value: Optional[float]
    unit: str


@dataclass(frozen=True)
class Finding:
    """What may be wrong with a result, and what to do about it."""

    code: int
    kind: str
    severity: str
    """`note`, `doubtful` or `invalid`."""
    sentence: str
    advice: Optional[str]
    phase: Optional[str]
    job: Optional[str]
    figures: Tuple[Figure, ...]
    explained_by: Optional[int]
    """The code of the finding that explains this one."""


class Run:
    """What a run came to. `document` is the whole record; the other properties are the parts that are most asked for."""

    def __init__(self, document: Any, *, report: str = "", messages: str = "", status: int = 0) -> None:
        """Takes a document as it was read; `report`, `messages` and `status` are of the program that wrote it."""
        if not isinstance(document, dict):
            raise IodynoError("this JSON is no document of iodyno: no object")
        schema = _schema(document)
        if schema.startswith(_RECORD) and schema != f"{_RECORD}{_VERSION}":
            raise IodynoError(f"{schema} is newer than this module\n hint: pip install -U iodyno")
        self.document: Dict[str, Any] = document
        self.report = report
        """What the program printed: the tool's own report."""
        self.messages = messages
        self.status = status
        """The exit status of the program; 0 for a record that was loaded."""

    def __repr__(self) -> str:
        return f"<iodyno.Run {self.name!r}: {self.schema}, {len(self.findings)} findings>"

    @property
    def schema(self) -> str:
        """`iodyno.record/1`; commands of several runs (`load-curve`, `limits`, …) write documents of their own; `""`: unnamed."""
        return _schema(self.document)

    @property
    def name(self) -> str:
        return str(self.document.get("name") or "")

    @property
    def completed(self) -> bool:
        """Whether no signal ended it early."""
        return bool(self.document.get("completed", True))

    @property
    def started_at_unix_ns(self) -> Optional[int]:
        started: Optional[int] = self.document.get("started_at_unix_ns")
        return started

    @property
    def machine(self) -> Dict[str, Any]:
        return dict(self.document.get("machine") or {})

    @property
    def targets(self) -> List[Dict[str, Any]]:
        return list(self.document.get("targets") or [])

    @property
    def plan(self) -> Dict[str, Any]:
        """The plan as it ran; `iodyno run` takes it again."""
        return dict(self._of_record("plan"))

    @property
    def phases(self) -> List[Dict[str, Any]]:
        return list(self._of_record("phases"))

    @property
    def demands(self) -> List[Dict[str, Any]]:
        """The conditions of `--fail-if`, each with what was found and whether it failed."""
        return list(self.document.get("demands") or [])

    @property
    def findings(self) -> List[Finding]:
        return [_finding(entry) for entry in self.document.get("findings") or []]

    def _of_record(self, field: str) -> Any:
        if not self.schema.startswith(_RECORD):
            raise IodynoError(f"{self.schema or 'this document'} has no {field}: read Run.document")
        return self.document[field]

    def rows(self) -> List[Dict[str, Any]]:
        """One row for each phase, job and kind of operation.

        Rates are per second, sizes in bytes, latencies in ns; a percentile with fewer than ten samples beyond it is None.
        """
        return [row for phase, job in self._jobs() for row in _lines(phase, job)]

    def series(self) -> List[Dict[str, Any]]:
        """One row for each job and interval of its series: `at_ns` (its end, after the start line), counts and bytes."""
        return [row for phase, job in self._jobs() for row in _intervals(phase, job)]

    def buckets(self) -> List[Dict[str, Any]]:
        """The latency distributions: one row for each bucket, `least_ns` to `most_ns`, both inclusive, and its `count`."""
        found = []
        for phase, job in self._jobs():
            for line in job.get("lines") or []:
                latency = line.get("latency") or {}
                head = {**_head(phase, job), "label": line.get("label")}
                for least, most, count in latency.get("buckets") or []:
                    found.append({**head, "least_ns": least, "most_ns": most, "count": count})
        return found

    def _jobs(self) -> Iterator[Tuple[Dict[str, Any], Dict[str, Any]]]:
        for phase in self.phases:
            for job in phase.get("jobs") or []:
                yield phase, job

    def table(self, name: str = "rows") -> List[Dict[str, Any]]:
        """The rows of a table: `rows`, `series`, `buckets` or `findings`."""
        if name == "findings":
            return [{**vars(finding), "figures": len(finding.figures)} for finding in self.findings]
        tables = {"rows": self.rows, "series": self.series, "buckets": self.buckets}
        if name not in tables:
            raise ValueError(f"table {name!r}: expected one of {', '.join([*tables, 'findings'])}")
        return tables[name]()

    def to_pandas(self, table: str = "rows") -> "pandas.DataFrame":
        """A table as a data frame. Needs pandas: `pip install 'iodyno[pandas]'`."""
        rows = self.table(table)
        try:
            import pandas
        except ImportError as error:
            raise IodynoError("to_pandas needs pandas\n hint: pip install 'iodyno[pandas]'") from error
        return pandas.DataFrame(rows)

    def plot(self, what: str = "bandwidth", *, path: Optional[Word] = None, ax: "Optional[Axes]" = None) -> "Axes":
        """Draws `bandwidth`, `operations` or `latency` (mean) over time, or the `distribution` of latencies.

        Returns the axes; `path` names an image to write. Needs matplotlib: `pip install 'iodyno[plot]'`.
        """
        from ._plot import draw

        return draw(self, what, path, ax)

    def save(self, path: Word) -> None:
        """Writes the record as JSON. A file that exists is not replaced: `FileExistsError`."""
        with open(path, "x", encoding="utf-8") as file:
            try:
                json.dump(self.document, file, indent=2, ensure_ascii=False)
                file.write("\n")
                file.flush()
            except BaseException:
                os.unlink(path)
                raise


def load(path: Word) -> Run:
    """Reads a document that iodyno wrote (`--json FILE`, `--also json=FILE`, `Run.save`)."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise IodynoError(f"{os.fspath(path)}: no JSON: {error}") from error
    try:
        if not isinstance(document, dict) or not (_schema(document) or "iodyno" in document):
            raise IodynoError("this JSON is no document of iodyno: it does not say so")
        return Run(document)
    except IodynoError as error:
        raise IodynoError(f"{os.fspath(path)}: {error}") from error


def _schema(document: Dict[str, Any]) -> str:
    """What a document says that it is; some commands say `format`."""
    said = [document.get("schema"), document.get("format")]
    return next((name for name in said if isinstance(name, str) and name.startswith(_SCHEMAS)), "")


def _finding(entry: Dict[str, Any]) -> Finding:
    figures = tuple(
        Figure(str(figure["name"]), figure.get("value"), str(figure.get("unit") or ""))
        for figure in entry.get("figures") or []
    )
    return Finding(
        code=int(entry["code"]),
        kind=str(entry["kind"]),
        severity=str(entry["severity"]),
        sentence=str(entry["sentence"]),
        advice=entry.get("advice"),
        phase=entry.get("phase"),
        job=entry.get("job"),
        figures=figures,
        explained_by=entry.get("explained_by"),
    )


def _head(phase: Dict[str, Any], job: Dict[str, Any]) -> Dict[str, Any]:
    points = phase.get("coordinates") or []
    return {
        "phase": phase.get("name"),
        "repetition": phase.get("repetition", 0),
        "coordinates": ";".join(f"{point['parameter']}={point['value']}" for point in points),
        "job": job.get("name"),
    }


def _lines(phase: Dict[str, Any], job: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    asked = job.get("comparable") or {}
    for line in job.get("lines") or []:
        latency = line.get("latency") or {}
        row = {
            **_head(phase, job),
            "label": line.get("label"),
            "verb": line.get("verb"),
            "engine": job.get("engine"),
            "workers": asked.get("workers"),
            "depth": asked.get("depth"),
            "io_bytes": asked.get("io_bytes"),
            "measured_ns": job.get("measured_ns"),
        }
        for name in ("operations", "bytes", "short", "failed", "operations_per_second", "bytes_per_second"):
            row[name] = line.get(name)
        for name in ("mean_ns", "min_ns", "max_ns"):
            row[f"latency_{name}"] = latency.get(name)
        known = {point["percent"]: point["ns"] for point in latency.get("percentiles") or []}
        for percent in _PERCENTILES:
            row[f"latency_p{percent:g}_ns".replace(".", "_")] = known.get(percent)
        yield row


def _intervals(phase: Dict[str, Any], job: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    series = job.get("series") or {}
    interval = series.get("interval_ns") or 0
    for index, row in enumerate(series.get("rows") or []):
        yield {**_head(phase, job), "at_ns": (index + 1) * interval, "interval_ns": interval, **row}
