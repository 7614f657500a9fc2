"""What durable storage promises to the rest of the program, and a store that only remembers.

A store keeps settings by leaf path (`outputs.3.name`), remembered machine state by name
(`energy.0`), uploaded files, and the messages of the outbox by number. `Changes` describes one step
from what is kept to what shall be kept; it is applied whole or not at all.

The order of `commit` calls is the order of the changes. When one fails, everything that was
committed before its future failed fails with it, because it was computed on top of the change that
is now missing. What is committed after that is tried afresh.

`load` and `blob` answer with what is durable; they do not see changes that still wait.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

import msgspec

from leverframe.errors import ErrorForPeople


class _Mark(Enum):
    DELETED = "deleted"


#: Stands in `Changes` for "remove this row".
DELETED: Final = _Mark.DELETED


@dataclass(slots=True)
class Changes:
    """One all-or-nothing step. Values are whatever JSON can say; a mapping goes in as a copy."""

    settings: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    #: None removes the upload.
    blobs: dict[str, bytes | None] = field(default_factory=dict)
    #: All settings are removed before `settings` is written (factory reset, restore).
    replace_settings: bool = False
    #: Messages of the outbox by number.
    messages: dict[int, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Stored:
    """Everything a controller needs to go on where it stopped."""

    settings: dict[str, Any]
    kept: dict[str, Any]


class StoreUnavailable(ErrorForPeople):
    """Nothing can be written now. Carries a sentence for people."""


#: Called on the loop with None, or with what went wrong.
Then = Callable[[StoreUnavailable | None], None]


class Store(Protocol):
    """Where a controller's settings survive."""

    def load(self) -> Stored:
        """All settings and remembered state."""

    def blob(self, name: str) -> bytes | None:
        """One upload, or None when there is none of that name."""

    def messages(self) -> dict[int, Any]:
        """The messages of the outbox by number."""

    def commit(self, changes: Changes, then: Then | None = None) -> asyncio.Future[None]:
        """Queue changes; the future is done when they are durable, or holds StoreUnavailable.

        `then` is called first, in the order of the commits and without anything in between, so
        that whoever builds one change on the other is never ahead of a failure. Where it is clear
        at once that nothing can be written, StoreUnavailable is raised and nothing is queued.
        """

    async def close(self) -> None:
        """Write what is queued, then let go of everything."""


@dataclass(slots=True)
class Rows:
    """Changes as they are written: values as JSON text, None where a row is removed."""

    settings: dict[str, str | None] = field(default_factory=dict)
    kept: dict[str, str | None] = field(default_factory=dict)
    blobs: dict[str, bytes | None] = field(default_factory=dict)
    replace_settings: bool = False
    #: Numbers as text, since they travel as keys of one JSON object.
    messages: dict[str, str | None] = field(default_factory=dict)

    def add(self, later: "Rows") -> None:
        """Become what results from writing these rows and then the later ones."""
        if later.replace_settings:
            self.settings.clear()
            self.replace_settings = True
        self.settings.update(later.settings)
        self.kept.update(later.kept)
        self.blobs.update(later.blobs)
        self.messages.update(later.messages)


def rows_from_changes(changes: Changes) -> Rows:
    """Changes as rows that no longer depend on the caller's objects."""
    return Rows(
        settings=_texts(changes.settings),
        kept=_texts(changes.kept),
        blobs={_checked(name): data for name, data in changes.blobs.items()},
        replace_settings=changes.replace_settings,
        messages=_texts({str(number): value for number, value in changes.messages.items()}),
    )


def values_from_texts(texts: Mapping[str, str | bytes | None]) -> dict[str, Any]:
    """The values of all rows that are not removed."""
    return {name: msgspec.json.decode(text) for name, text in texts.items() if text is not None}


def messages_from_texts(texts: Mapping[str, str | bytes | None]) -> dict[int, Any]:
    """Messages by number, in the order of their numbers."""
    values = values_from_texts(texts)
    return {number: values[str(number)] for number in sorted(map(int, values))}


def _texts(values: Mapping[str, Any]) -> dict[str, str | None]:
    if not values:
        return {}
    return {
        _checked(name): None if value is DELETED else msgspec.json.encode(value).decode()
        for name, value in values.items()
    }


def _checked(name: str) -> str:
    # SQLite reads names out of one JSON text per batch and would cut them at a NUL.
    if not name.isprintable():
        raise ValueError(f"{name!r} cannot name a stored value: only printable text can.")
    return name


class MemoryStore:
    """A store that lasts as long as the process: for tests, demos and throw-away twins."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._closed_loop: asyncio.AbstractEventLoop | None = None

    def load(self) -> Stored:
        return Stored(values_from_texts(self._rows.settings), values_from_texts(self._rows.kept))

    def blob(self, name: str) -> bytes | None:
        return self._rows.blobs.get(name)

    def messages(self) -> dict[int, Any]:
        return messages_from_texts(self._rows.messages)

    def commit(self, changes: Changes, then: Then | None = None) -> asyncio.Future[None]:
        self._rows.add(rows_from_changes(changes))
        if then is not None:
            then(None)
        done = self._loop().create_future()
        done.set_result(None)
        return done

    async def close(self) -> None:
        """Nothing to let go of."""

    def _loop(self) -> asyncio.AbstractEventLoop:
        """The running loop; without one a closed loop, enough for a future that is done."""
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            if self._closed_loop is None:
                self._closed_loop = asyncio.new_event_loop()
                self._closed_loop.close()
            return self._closed_loop
