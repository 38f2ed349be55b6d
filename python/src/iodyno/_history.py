"""`iodyno.runs`: the history, as `iodyno runs` lists it."""

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ._program import call
from ._record import Run


@dataclass(frozen=True)
class Entry:
    """A run that is kept."""

    id: int
    state: str
    """`complete`, `running`, `stopped`, `killed` or `imported`."""
    name: Optional[str]
    tool: Optional[str]
    words: Tuple[str, ...]
    folder: Optional[str]
    host: Optional[str]
    began_unix_ns: Optional[int]
    elapsed_ns: Optional[int]
    headline: Optional[str]
    findings: int
    errors: int
    tags: Tuple[str, ...]

    def load(self, env: Optional[Mapping[str, str]] = None) -> Run:
        """Its record. `env` as `runs` was given it."""
        shown = call("runs", "show", str(self.id), "--json", env=env)
        return Run(json.loads(shown.stdout))


def runs(
    last: int = 20,
    *,
    tool: Optional[str] = None,
    tag: Optional[str] = None,
    host: Optional[str] = None,
    state: Optional[str] = None,
    since: Optional[str] = None,
    text: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
) -> List[Entry]:
    """The newest runs of the history, the newest first; `last=0`: all of them.

    `since` is as on the command line: `"2h"`, `"7d"`. `env` may name another history (`IODYNO_HISTORY`).
    """
    words = ["runs", "--json", "--last", str(last)]
    filters = {"tool": tool, "tag": tag, "host": host, "state": state, "since": since, "text": text}
    for name, value in filters.items():
        if value is not None:
            words += [f"--{name}", value]
    listed = json.loads(call(*words, env=env).stdout or "[]")
    return [_entry(row) for row in listed]


def _entry(row: Dict[str, Any]) -> Entry:
    return Entry(
        id=int(row["id"]),
        state=str(row["state"]),
        name=row.get("name"),
        tool=row.get("tool"),
        words=tuple(row.get("words") or ()),
        folder=row.get("folder"),
        host=row.get("host"),
        began_unix_ns=row.get("began_unix_ns"),
        elapsed_ns=row.get("elapsed_ns"),
        headline=row.get("headline"),
        findings=int(row.get("findings") or 0),
        errors=int(row.get("errors") or 0),
        tags=tuple(row.get("tags") or ()),
    )
