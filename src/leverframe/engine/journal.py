"""The journal: what happened and why, the newest few hundred entries, for people to read.

An entry has a time, a cause and a text. The kind of a cause is a word: of the engine
`start`, `rule`, `rule loop`, `schedule`, `watchdog`, `timer` (return time, periodic switching,
delays, the regulator) and `input` (a contact); of requests `command`, `sign-in`, `command line`,
`firmware` and `scenario`; of what is sent `outbox`; of what is written to modules `modbus`; of what
is not as it should be `finding`.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, field

from leverframe.engine.facts import Fact

KEPT_ENTRIES = 500
#: Kinds of causes of the engine itself: they were set up on purpose.
OWN_CAUSES = frozenset(("start", "rule", "rule loop", "schedule", "watchdog", "timer", "input"))


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


#: What has not been switched since then is as the start left it.
BY_START = Cause("start")


class Entry(msgspec.Struct, frozen=True, gc=False):
    #: Counts all entries since the start, so that a reader sees what it has missed.
    number: int
    wall: float
    cause: Cause
    text: str
    fact: Fact


class EntryReport(msgspec.Struct, frozen=True):
    """An entry as pages and programs get it, and as it is stored."""

    number: int
    time: Annotated[float, Meta(description="Seconds since 1970.")]
    cause: str
    detail: str
    text: str
    what: Annotated[str, Meta(description="The kind of the entry.")]
    which: Annotated[str | None, Meta(description="The label concerned.")]
    old: Annotated[float | None, Meta(description="The value before.")] = field(name="from")
    new: Annotated[float | None, Meta(description="The value after.")] = field(name="to")
    figures: Annotated[dict[str, Any], Meta(description="The other values of the sentence.")]
    by: Annotated[
        Cause,
        Meta(
            description="The cause with its details: the number and name of a rule, an entry of "
            "the schedule or of the watchdog, its comparisons, seconds, and the "
            "account and address of a request. Empty fields are omitted."
        ),
    ]
    after: Annotated[int | None, Meta(description="The number of the entry that led to this one.")]


def report_of(entry: Entry) -> EntryReport:
    fact, cause = entry.fact, entry.cause
    return EntryReport(
        entry.number,
        entry.wall,
        cause.kind,
        cause.detail,
        entry.text,
        fact.what,
        fact.which or None,
        fact.old,
        fact.new,
        dict(fact.figures),
        cause,
        cause.after or None,
    )


class JournalContent(Protocol):
    """What happened; the fact is built only when it is read."""

    def as_fact(self) -> Fact: ...


_Row = tuple[float, Cause, JournalContent]


class Journal:
    __slots__ = ("_entries", "_number")

    def __init__(self) -> None:
        self._entries: deque[_Row] = deque(maxlen=KEPT_ENTRIES)
        self._number = 0

    def add(self, wall: float, cause: Cause, content: JournalContent) -> int:
        """Add an entry and return its number."""
        self._number += 1
        self._entries.append((wall, cause, content))
        return self._number

    def copy(self) -> "Journal":
        copy = Journal()
        copy._entries = self._entries.copy()
        copy._number = self._number
        return copy

    def newest(self, count: int) -> list[tuple[float, Cause, Fact]]:
        """List the newest entries, oldest first, as plain data."""
        kept = self._entries
        chosen = islice(kept, max(0, len(kept) - count), None)
        return [(wall, cause, content.as_fact()) for wall, cause, content in chosen]

    @classmethod
    def resume(cls, count: int, entries: Iterable[_Row]) -> "Journal":
        """Return a journal that continues after `count` entries, of which these are the newest."""
        journal = cls()
        journal._number = count
        journal._entries.extend(entries)
        return journal

    @property
    def count(self) -> int:
        """The number of entries since the start, kept or not."""
        return self._number

    def moments(self) -> Iterator[float]:
        """Give the wall time of each entry that is kept, newest first."""
        return (wall for wall, _, _ in reversed(self._entries))

    def entries(self) -> list[Entry]:
        return self.since(0)

    def since(self, number: int) -> list[Entry]:
        """List the entries after the one with that number, as far as they are still kept."""
        new = min(self._number - number, len(self._entries))
        newest = islice(reversed(self._entries), new) if new > 0 else ()
        numbered = zip(count(self._number, -1), newest, strict=False)
        entries = [
            Entry(number, wall, cause, str(fact := content.as_fact()), fact)
            for number, (wall, cause, content) in numbered
        ]
        return entries[::-1]
