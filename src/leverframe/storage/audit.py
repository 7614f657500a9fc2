"""The audit trail: who changed a setting, when, from which address, and the old and new values.

An entry is written in the same transaction as the change itself, so neither exists without the
other. Secrets are masked. The newest entries are kept, each as one row of remembered state. They
are read from the store only on request, because they are rarely needed. Actions that change no
setting are in `action_audit.py`.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from leverframe.core.engine.journal import Cause
from leverframe.core.engine.secret_servers import split_address
from leverframe.core.tree import MASK, MISSING, is_confidential, mask_secret
from leverframe.storage.store import AUDIT_PREFIXES

MAX_ENTRIES = 1000
#: Expired entries are removed in groups of this size, because removing one entry with every change
#: would cost another disk write each time.
GO_TOGETHER = 50
#: The maximum number of changes listed per request; restoring a backup changes nearly all settings.
MAX_CHANGES = 200
MAX_LETTERS = 300
#: The JSON of values of these types, and of texts shorter than this, is never too long: it needs at
#: most six characters for each character.
_SHORT, _SHORT_LETTERS = (bool, int, float), MAX_LETTERS // 6
PREFIX, ACTION_PREFIX = AUDIT_PREFIXES

Leaf = tuple[str, Any, Any]


_Value = Annotated[Any, Meta(description="Null if there is no value, `***` for a secret.")]


class AuditChange(msgspec.Struct, frozen=True, gc=False):
    path: str
    old: _Value
    new: _Value


class AuditEntry(msgspec.Struct, frozen=True, gc=False):
    """The changes of one request."""

    number: int
    time: Annotated[float, Meta(description="Seconds since 1970.")]
    cause: str
    detail: str
    account: Annotated[str, Meta(description="Empty if no sign-in is required.")]
    source: Annotated[str, Meta(description="The address that the request came from.")]
    changes: tuple[AuditChange, ...]
    not_listed: Annotated[int, Meta(description="Further changes of the same request.")] = 0


def entry_of(
    number: int, wall: float, cause: Cause, changes: Sequence[AuditChange], not_listed: int = 0
) -> AuditEntry:
    return AuditEntry(
        number,
        wall,
        cause.kind,
        cause.detail,
        cause.account,
        cause.source,
        tuple(changes),
        not_listed,
    )


class AuditTrail:
    """The numbers of the entries; the entries themselves are only in the store."""

    __slots__ = ("_number", "_numbers", "entry_count")

    def __init__(self, names: Iterable[str]) -> None:
        """Continue after the stored rows of the trail."""
        rows = sorted(names)
        #: Numbers of the entries about settings that are stored or being written, oldest first.
        self._numbers = array("q", (number_of(name) for name in rows if name.startswith(PREFIX)))
        self._number = max(map(number_of, rows), default=0)
        #: Number of readable entries since the start; readers compare it to detect new ones.
        self.entry_count = 0

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def rows(
        self,
        wall: float,
        cause: Cause,
        leaves: Sequence[Leaf],
        blobs: Mapping[str, bytes | None],
    ) -> dict[str, str | None]:
        """Return the rows to write together with a change."""
        number = self.next_number()
        changes = [_change(*leaf) for leaf in leaves[:MAX_CHANGES]]
        if blobs:
            changes += [_upload(name, body) for name, body in blobs.items()]
        entry = entry_of(number, wall, cause, changes, max(0, len(leaves) - MAX_CHANGES))
        rows: dict[str, str | None] = {row_name(PREFIX, number): _text(entry)}
        numbers = self._numbers
        numbers.append(number)
        outlived = len(numbers) - MAX_ENTRIES
        if outlived >= GO_TOGETHER:
            rows.update((row_name(PREFIX, number), None) for number in numbers[:outlived])
            del numbers[:outlived]
        return rows

    def not_written(self, rows: Mapping[str, str | None]) -> None:
        """Undo `rows` after a failed write: the entries to be deleted still exist."""
        numbers = set(self._numbers)
        for name, text in rows.items():
            (numbers.add if text is None else numbers.discard)(number_of(name))
        self._numbers = array("q", sorted(numbers))


def newest_entries(rows: Mapping[str, str]) -> dict[int, msgspec.Raw]:
    """Return the newest stored entries by number, ready for inclusion in a JSON document."""
    names = sorted(name for name in rows if name.startswith(PREFIX))[-MAX_ENTRIES:]
    return {number_of(name): msgspec.Raw(rows[name].encode()) for name in names}


def row_name(prefix: str, number: int) -> str:
    """Return a row name; names have the same order as their numbers."""
    return f"{prefix}{number:012d}"


def number_of(name: str) -> int:
    return int(name.rpartition(".")[2])


def _text(entry: AuditEntry) -> str:
    """Return an entry as it is stored: as JSON in a JSON string."""
    encode = msgspec.json.encode
    return encode(encode(entry).decode()).decode()


def _change(path: str, old: Any, new: Any) -> AuditChange:
    if is_confidential(path):
        return AuditChange(path, _mask(path, old), _mask(path, new))
    return AuditChange(path, _trail_value(old), _trail_value(new))


def _upload(name: str, body: bytes | None) -> AuditChange:
    return AuditChange(name, None, None if body is None else f"{len(body)} bytes")


def _mask(path: str, value: Any) -> str | None:
    """Mask a secret that is set; of a URL keep the server, which is not secret."""
    if value is MISSING:
        return None
    if value and path.endswith(".url"):
        return f"{split_address(value)[0]}/{MASK}"
    return mask_secret(value)


def _trail_value(value: Any) -> Any:
    """Return a setting's value for the trail; null if the setting does not exist."""
    kind = type(value)
    if len(value) < _SHORT_LETTERS if kind is str else kind in _SHORT:
        return value
    if value is MISSING:
        return None
    text = msgspec.json.encode(value)
    if len(text) <= MAX_LETTERS:
        return value
    return f"{text[:MAX_LETTERS].decode(errors='replace')}..."
