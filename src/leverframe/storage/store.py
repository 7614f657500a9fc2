"""The interface of durable storage, and a store in memory.

A store keeps settings by leaf path (`outputs.3.name`), remembered machine state by name
(`energy.0`), uploaded files, and the messages of the outbox by number. `Changes` describes one step
of changes, which is applied completely or not at all.

`load`, `blob` and `messages` return durable values. All changes of a running controller go through
one `Writer` (`writer.py`), which keeps their order and shares transactions.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from leverframe.core.errors import ErrorForPeople
from leverframe.core.tree import MISSING


class _Mark(Enum):
    DELETED = "deleted"


#: Rows of remembered state whose names begin with these are the audit trail: of settings
#: (`audit.py`) and of actions (`action_audit.py`). Stores on disk have these names, so they stay.
AUDIT_PREFIXES: Final = ("audit.", "deed.")

#: The value of a row that is to be removed, in `Changes`.
DELETED: Final = _Mark.DELETED


class Changes(msgspec.Struct):
    """Changes that are applied completely or not at all; JSON can represent all values."""

    settings: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    #: None removes the upload.
    blobs: dict[str, bytes | None] = {}
    #: All settings are removed before `settings` is written (factory reset, restore).
    replace_settings: bool = False
    #: Messages of the outbox by number.
    messages: dict[int, Any] = {}
    #: Rows of the audit trail by name, already encoded (`AuditTrail.rows`).
    audit: dict[str, str | None] = {}


class Stored(msgspec.Struct):
    """The data that a controller needs to resume where it stopped."""

    settings: dict[str, Any]
    #: Without the audit trail.
    kept: dict[str, Any]
    #: The names of the audit trail's rows; `Store.audit` reads their content.
    audit: list[str] = []
    #: Settings that an earlier program stored in plain text and that are encrypted now.
    unsealed: dict[str, Any] = {}
    #: Secrets that the key cannot decrypt, and that are therefore not among the settings.
    unreadable: list[str] = []
    #: The reason why they cannot be decrypted, as a sentence.
    why_unreadable: str = ""


class StoreUnavailable(ErrorForPeople):
    """Nothing can be written now; the message is a sentence for users."""

    #: True if it is unknown whether the write was stored.
    is_in_doubt = False
    #: True if another node has taken over the controller; nothing was written.
    is_taken_over = False
    #: Acknowledged changes are lost, so all requests are rejected until an operator intervenes.
    is_over = False
    #: The sentence for readers, if it differs.
    for_reader: str | None = None


class UnreadableRow(ErrorForPeople):
    """A stored row is not valid JSON; the message is one sentence without the row's content."""


class Rows(msgspec.Struct, omit_defaults=True):
    """Changes as they are written: values as JSON text, None for removed rows."""

    settings: dict[str, str | None] = {}
    kept: dict[str, str | None] = {}
    blobs: dict[str, bytes | None] = {}
    replace_settings: bool = False
    #: Message numbers as text, because they become keys of a JSON object.
    messages: dict[str, str | None] = {}

    def add(self, later: "Rows") -> None:
        """Merge later rows into these, as if both were written in order."""
        if later.replace_settings:
            self.settings.clear()
            self.replace_settings = True
        self.settings.update(later.settings)
        self.kept.update(later.kept)
        if later.blobs:
            self.blobs.update(later.blobs)
        if later.messages:
            self.messages.update(later.messages)


class BatchPart(Protocol):
    """A writer whose changes share a transaction with those of other writers."""

    #: The number of the controller.
    number: int

    def take(self) -> Rows | None:
        """Return the rows to write; None if there are none."""

    def settle(self, error: BaseException | None) -> None:
        """Receive the result: None if the rows from `take` are durable, or the error."""


class WriteQueue(Protocol):
    def add(self, part: BatchPart) -> None:
        """Queue a part, whose rows are then requested; it may be added several times."""


class Store(Protocol):
    """The durable storage of a controller's settings."""

    #: The queue that writes for this store and possibly others; None if `write` is used.
    shared_queue: WriteQueue | None = None
    #: The number of this store in that queue; 0 if it has none.
    number: int = 0
    #: The folder of its files; None if it has no files of its own.
    folder: Path | None = None

    def load(self) -> Stored:
        """Read all settings and remembered state."""

    async def audit(self, prefix: str = "") -> dict[str, str]:
        """Read the rows of the audit trail whose names have this prefix."""

    async def blob(self, name: str) -> bytes | None:
        """Read an upload; return None if there is none with that name."""

    def messages(self) -> dict[int, Any]:
        """Read the messages of the outbox by number."""

    async def write(self, rows: Rows) -> None:
        """Make the rows durable, all or none; raise StoreUnavailable if that fails."""

    async def close(self) -> None:
        """Release all resources."""

    async def commit(self, changes: Changes) -> None:
        """Make changes durable, all or none; only for use while nothing else writes."""
        await self.write(rows_from_changes(changes))


def rows_from_changes(changes: Changes) -> Rows:
    """Convert changes to rows that no longer depend on the caller's objects."""
    rows = Rows(texts_of(changes.settings), texts_of(changes.kept) | changes.audit)
    rows.replace_settings = changes.replace_settings
    if changes.blobs:
        rows.blobs = {_check_name(name): data for name, data in changes.blobs.items()}
    if changes.messages:
        texts = {str(number): value for number, value in changes.messages.items()}
        rows.messages = texts_of(texts)
    return rows


def leaf_texts(leaves: Iterable[tuple[str, Any, Any]]) -> dict[str, str | None]:
    """Encode the new values of settings for writing; the paths are our own, and printable."""
    encode = msgspec.json.encode
    return {path: None if new is MISSING else encode(new).decode() for path, _, new in leaves}


def values_from_texts(texts: Mapping[str, str | bytes | None]) -> dict[str, Any]:
    """Return the values of all rows not removed; raise UnreadableRow for an invalid one."""
    decode = msgspec.json.decode
    try:
        return {name: decode(text) for name, text in texts.items() if text is not None}
    except msgspec.DecodeError:
        for name, text in texts.items():
            _check_json(name, text)
        raise


def _check_json(name: str, text: str | bytes | None) -> None:
    try:
        msgspec.json.decode(b"0" if text is None else text)
    except msgspec.DecodeError as error:
        raise UnreadableRow(f"The stored value of {name} cannot be read: {error}.") from error


def messages_from_texts(texts: Mapping[str, str | bytes | None]) -> dict[int, Any]:
    """Return messages by number, in the order of their numbers."""
    values = values_from_texts({f"message {number}": text for number, text in texts.items()})
    numbers = sorted(int(number) for number, text in texts.items() if text is not None)
    return {number: values[f"message {number}"] for number in numbers}


def texts_of(values: Mapping[str, Any]) -> dict[str, str | None]:
    """Encode values for writing, by name."""
    if not values:
        return {}
    encode = msgspec.json.encode
    texts = {
        name: None if value is DELETED else encode(value).decode() for name, value in values.items()
    }
    if not "".join(texts).isprintable():
        all(map(_check_name, texts))
    return texts


def _check_name(name: str) -> str:
    # SQLite reads the names from one JSON text per batch and would truncate them at a NUL.
    if not name.isprintable():
        raise ValueError(f"{name!r} cannot name a stored value: use printable characters only.")
    return name


class MemoryStore(Store):
    """A store that exists as long as the process: for tests, demos and temporary twins."""

    def __init__(self) -> None:
        self._rows = Rows()

    def load(self) -> Stored:
        kept = {n: t for n, t in self._rows.kept.items() if not n.startswith(AUDIT_PREFIXES)}
        audit = [n for n in self._rows.kept.keys() - kept.keys() if self._rows.kept[n] is not None]
        return Stored(values_from_texts(self._rows.settings), values_from_texts(kept), audit)

    async def audit(self, prefix: str = "") -> dict[str, str]:
        kept = self._rows.kept.items()
        rows = {n: t for n, t in kept if n.startswith(AUDIT_PREFIXES) and n.startswith(prefix)}
        return values_from_texts(rows)

    async def blob(self, name: str) -> bytes | None:
        return self._rows.blobs.get(name)

    def upload_names(self) -> list[str]:
        return [name for name, data in self._rows.blobs.items() if data is not None]

    def messages(self) -> dict[int, Any]:
        return messages_from_texts(self._rows.messages)

    async def write(self, rows: Rows) -> None:
        self._rows.add(rows)

    async def close(self) -> None:
        """Do nothing, because there is nothing to release."""
