"""Run iodyno, the dynamometer for I/O, and read its results.

The module starts the program and reads the JSON that it writes. It measures nothing itself and needs no other package;
`Run.to_pandas` asks for pandas and `Run.plot` for matplotlib.
"""

from ._history import Entry, runs
from ._program import IodynoError, ProgramMissing, RunFailed, call, find_program
from ._record import Figure, Finding, Run, load
from ._start import run
from ._version import __version__

__all__ = [
    "Entry",
    "Figure",
    "Finding",
    "IodynoError",
    "ProgramMissing",
    "Run",
    "RunFailed",
    "__version__",
    "call",
    "find_program",
    "load",
    "run",
    "runs",
]
