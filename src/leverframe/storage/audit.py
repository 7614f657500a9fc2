"""The audit trail: who changed which setting, when, from where, from what to what.

An entry is written in the same step as the change itself, so there is no change without its entry
and no entry without its change. Secrets are masked. The newest entries are kept; each is one row of
remembered state, as text, because most controllers never read them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from leverframe.engine.journal import Cause
from leverframe.engine.tree import GONE, is_secret
from leverframe.storage.store import DELETED

MOST_ENTRIES = 1000
#: Of one request; a restored backup changes nearly everything.
MOST_CHANGES = 200
MOST_LETTERS = 300
MASK = "***"
_PREFIX = "audit."

Leaf = tuple[str, Any, Any]


class AuditTrail:
    def __init__(self, kept: Mapping[str, Any]) -> None:
        """Go on with what the store remembers."""
        names = sorted(name for name in kept if is_audit(name))
        self._texts: dict[str, str] = {name: kept[name] for name in names}
        self._number = int(names[-1].removeprefix(_PREFIX)) if names else 0

    def rows(
        self,
        wall: float,
        cause: Cause,
        leaves: Sequence[Leaf],
        blobs: Mapping[str, bytes | None],
    ) -> dict[str, Any]:
        """What to write together with a change."""
        self._number += 1
        changes = [_change(*leaf) for leaf in leaves[:MOST_CHANGES]]
        changes += [_upload(name, body) for name, body in blobs.items()]
        entry = {
            "number": self._number,
            "time": wall,
            "cause": cause.kind,
            "detail": cause.detail,
            "account": cause.account,
            "source": cause.source,
            "changes": changes,
            "not_listed": max(0, len(leaves) - MOST_CHANGES),
        }
        rows: dict[str, Any] = {_name(self._number): msgspec.json.encode(entry).decode()}
        oldest = _name(self._number - MOST_ENTRIES)
        if oldest in self._texts:
            rows[oldest] = DELETED
        return rows

    def written(self, rows: Mapping[str, Any]) -> None:
        """The rows are on disk."""
        for name, text in rows.items():
            if text is DELETED:
                del self._texts[name]
            else:
                self._texts[name] = text

    def entries(self) -> list[msgspec.Raw]:
        """All entries, oldest first, ready to be put into a JSON document."""
        return [msgspec.Raw(text.encode()) for text in self._texts.values()]


def is_audit(name: str) -> bool:
    return name.startswith(_PREFIX)


def _name(number: int) -> str:
    return f"{_PREFIX}{number:012d}"


def _change(path: str, old: Any, new: Any) -> dict[str, Any]:
    secret = is_secret(path)
    return {"path": path, "old": _shown(old, secret), "new": _shown(new, secret)}


def _upload(name: str, body: bytes | None) -> dict[str, Any]:
    return {"path": name, "old": None, "new": None if body is None else f"{len(body)} bytes"}


def _shown(value: Any, secret: bool) -> Any:
    """A leaf that is not there reads null, and so does a secret that is not set."""
    if value is GONE:
        return None
    if secret:
        return MASK if value else None
    text = msgspec.json.encode(value)
    if len(text) <= MOST_LETTERS:
        return value
    return f"{text[:MOST_LETTERS].decode(errors='replace')}..."
