"""Machine state that outlives a restart, on its way to the disk: counters, states of outputs.

The engine says once what is to be remembered. Where the disk does not take it, it goes with the
next change that is written, is tried again and again, and once more at the stop. A disk that has
refused anything is tried in the same way, so that it is known when it is well again.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from leverframe.storage.store import DELETED, Changes, StoreUnavailable
from leverframe.storage.writer import Commit, Writer

#: Between retries on a disk of its own: a recovery is visible within a second, also on a busy
#: machine, where the write and the report take most of that second.
PAUSE_S = 0.25
#: Where many controllers write together, each pause is twice the one before.
LONGEST_PAUSE_S = 60.0
#: Counts the refusals; something must be written to try a disk.
REFUSALS = "store.refused"

#: What is remembered of a controller as such, and not of its engine.
_OF_THE_CONTROLLER = (
    "identity.",
    "snmp.",
    "profile.",
    "firmware",
    "mqtt",
    "job.",
    "store.",
)


class PersistentState:
    def __init__(
        self,
        writer: Writer,
        values: dict[str, Any],
        note_store: Callable[[StoreUnavailable | None], None],
    ) -> None:
        self._writer = writer
        #: By name; None is nothing any more.
        self.values = values
        self._note_store = note_store
        #: Names whose newest value did not reach the disk.
        self._missing: set[str] = set()
        self._pause_s = PAUSE_S
        self._again: asyncio.TimerHandle | None = None
        self._has_ended = False

    def of_engine(self) -> dict[str, Any]:
        """Return what is remembered of what the engine does."""
        return {
            name: value
            for name, value in self.values.items()
            if not name.startswith(_OF_THE_CONTROLLER)
        }

    def persist(self, values: dict[str, Any]) -> asyncio.Future[None]:
        """Remember these; the future is done when they are on disk."""
        self.values.update(values)
        return self._write(self._missing.union(values))

    def missing(self) -> dict[str, Any]:
        """Return the rows that a change should include."""
        return self._rows(self._missing) if self._missing else {}

    def are_on_disk(self, names: Iterable[str]) -> None:
        self._missing.difference_update(names)

    def write_missing(self) -> None:
        """Retry immediately what did not reach the disk."""
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._missing:
            self._write(self._missing)

    def end(self) -> None:
        """Write what is missing for the last time, without a retry."""
        self._has_ended = True
        self.write_missing()

    def _write(self, names: set[str]) -> asyncio.Future[None]:
        return self._writer.commit(Changes(kept=self._rows(names)), self._on_committed)

    def _rows(self, names: Iterable[str]) -> dict[str, Any]:
        return remove_empty({name: self.values[name] for name in names})

    def _on_committed(self, commits: Sequence[Commit], error: StoreUnavailable | None) -> None:
        self._note_store(error)
        names = {name for commit in commits for name in commit.rows.kept}
        if error is None:
            self.are_on_disk(names)
            self._pause_s = PAUSE_S
            return
        self._missing.update(names)
        self._write_later()

    def note_refusal(self) -> None:
        """Try the disk, which has refused what another part wanted to write."""
        self.values[REFUSALS] = self.values.get(REFUSALS, 0) + 1
        self._missing.add(REFUSALS)
        self._write_later()

    def _write_later(self) -> None:
        if self._again is not None or self._has_ended:
            return
        loop = asyncio.get_running_loop()
        self._again = loop.call_later(self._pause_s, self.write_missing)
        if self._writer.number:
            # One of many: none of them may keep the disk of the others busy.
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)


def remove_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for the store: what is None is nothing any more."""
    return {name: DELETED if value is None else value for name, value in values.items()}
