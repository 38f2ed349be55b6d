"""Charts of a run, drawn by matplotlib, which is asked for only here."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from ._program import IodynoError, Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._record import Run

_TITLES = {
    "bandwidth": "MB/s",
    "operations": "operations per second",
    "latency": "mean latency, µs",
    "distribution": "operations at or below, %",
}
_MEGABYTE = 1e6
_MICROSECOND = 1e3

Points = Dict[str, Tuple[List[float], List[float]]]


def draw(run: "Run", what: str, path: Optional[Word], ax: "Optional[Axes]") -> "Axes":
    """Draws on `ax`, or on a figure of its own."""
    if what not in _TITLES:
        raise ValueError(f"plot {what!r}: expected one of {', '.join(_TITLES)}")
    lines = points(run, what)
    if not lines:
        raise IodynoError(f"{run.name}: the record has no data to draw {what} of")
    axes = ax if ax is not None else _axes(path is not None)
    for name, (across, up) in lines.items():
        if what == "distribution":
            axes.step(across, up, where="post", label=name)
        else:
            axes.plot(across, up, label=name)
    if what == "distribution":
        axes.set_xscale("log")
    axes.set_xlabel("latency, µs" if what == "distribution" else "seconds")
    axes.set_ylabel(_TITLES[what])
    axes.set_ylim(bottom=0)
    axes.set_title(run.name)
    axes.legend()
    if path is not None:
        figure: Any = axes.get_figure()
        figure.savefig(path)
    return axes


def _axes(has_no_window: bool) -> "Axes":
    try:
        if has_no_window:
            from matplotlib.figure import Figure

            return Figure().subplots()
        from matplotlib import pyplot
    except ImportError as error:
        raise IodynoError("plot needs matplotlib\n hint: pip install 'iodyno[plot]'") from error
    return pyplot.subplots()[1]


def points(run: "Run", what: str) -> Points:
    """The lines to draw: a name, and its values across and up."""
    return _distribution(run) if what == "distribution" else _over_time(run, what)


def _over_time(run: "Run", what: str) -> Points:
    lines: Points = {}
    for row in run.series():
        across, up = lines.setdefault(_name(row), ([], []))
        operations = sum(row.get(kind) or 0 for kind in ("reads", "writes", "trims", "others"))
        moved = sum(row.get(kind) or 0 for kind in ("read_bytes", "write_bytes", "trim_bytes"))
        seconds = row["interval_ns"] / 1e9
        if what == "latency" and operations == 0:
            continue
        value = {
            "bandwidth": moved / seconds / _MEGABYTE,
            "operations": operations / seconds,
            "latency": (row.get("latency_sum_ns") or 0) / max(operations, 1) / _MICROSECOND,
        }
        across.append(row["at_ns"] / 1e9)
        up.append(value[what])
    return {name: line for name, line in lines.items() if line[0]}


def _distribution(run: "Run") -> Points:
    counted: Dict[str, List[Tuple[float, int]]] = {}
    for row in run.buckets():
        counted.setdefault(f"{_name(row)} {row['label']}", []).append((row["most_ns"] / _MICROSECOND, row["count"]))
    lines: Points = {}
    for name, buckets in counted.items():
        whole, below = sum(count for _, count in buckets), 0
        line: Tuple[List[float], List[float]] = ([], [])
        for most, count in sorted(buckets):
            below += count
            line[0].append(most)
            line[1].append(100.0 * below / whole)
        lines[name] = line
    return lines


def _name(row: Dict[str, Any]) -> str:
    parts = [row["phase"], row["job"], row["coordinates"]]
    again = f"pass {row['repetition'] + 1}" if row["repetition"] else ""
    return " ".join(str(part) for part in [*parts, again] if part)
