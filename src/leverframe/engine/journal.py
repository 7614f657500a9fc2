"""The journal: what happened and why, the newest few hundred entries, for people to read.

An entry has a time, a cause and a text. The kind of a cause is a word: of the engine
`start`, `rule`, `rule loop`, `schedule`, `watchdog` and `timer` (return time, periodic switching,
delays); of requests `command`, `sign-in`, `command line`, `firmware` and `scenario`; of what is
sent `outbox`; of what is written to modules `modbus`; of what is not as it should be `finding`.
"""

from collections import deque
from itertools import count, islice
from typing import Protocol

import msgspec

from leverframe.engine.facts import Fact

KEPT_ENTRIES = 500


class Decided(msgspec.Struct, frozen=True, gc=False):
    """One comparison of a rule in the moment in which it decided."""

    label: str
    value: float | int | None
    compare: str
    threshold: float
    is_met: bool | None
    #: The number of the entry that gave the label this value, where it was switched.
    after: int = 0


class Cause(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    kind: str
    #: Which one: an address and account, a rule's number, an entry's name.
    detail: str = ""
    #: Whose request it was and where it came from, for requests of signed-in people.
    account: str = ""
    source: str = ""
    #: The number, from 1, of a rule, an entry of the schedule or of the watchdog; its name.
    number: int = 0
    name: str = ""
    #: What decided: the comparisons of a rule, or how long a timer waited.
    conditions: tuple[Decided, ...] = ()
    seconds: float = 0
    #: The number of the entry that led to this one, where there is one.
    after: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".rstrip()


#: What nobody has switched since then is as the start left it.
BY_START = Cause("start")


class Entry(msgspec.Struct, frozen=True, gc=False):
    #: Counts all entries since the start, so that a reader sees what it has missed.
    number: int
    wall: float
    cause: Cause
    text: str
    fact: Fact


class Told(Protocol):
    """What happened; `str` makes the text only when it is read."""

    def as_fact(self) -> Fact: ...


class Journal:
    __slots__ = ("_entries", "_number")

    def __init__(self) -> None:
        self._entries: deque[tuple[float, Cause, Told]] = deque(maxlen=KEPT_ENTRIES)
        self._number = 0

    def add(self, wall: float, cause: Cause, told: Told) -> int:
        """Add an entry and return its number."""
        self._number += 1
        self._entries.append((wall, cause, told))
        return self._number

    def copy(self) -> "Journal":
        copy = Journal()
        copy._entries = self._entries.copy()
        copy._number = self._number
        return copy

    @property
    def count(self) -> int:
        """The number of entries since the start, kept or not."""
        return self._number

    def entries(self) -> list[Entry]:
        return self.since(0)

    def since(self, number: int) -> list[Entry]:
        """List the entries after the one with that number, as far as they are still kept."""
        new = min(self._number - number, len(self._entries))
        newest = islice(reversed(self._entries), new) if new > 0 else ()
        numbered = zip(count(self._number, -1), newest, strict=False)
        entries = [
            Entry(number, wall, cause, str(told), told.as_fact())
            for number, (wall, cause, told) in numbered
        ]
        return entries[::-1]
