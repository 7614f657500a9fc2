"""The journal: events with their causes, and the English sentence of each kind of event."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from types import MappingProxyType
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, field

from leverframe.core.tree import MISSING, is_confidential

# Every kind of entry of the journal, with its English sentence.
#
# A fact has a kind (`what`), the label that it is about (`which`), the values before and after, and
# the other figures of its sentence. The sentence is built only when it is read, because most
# sentences are never read. The pages have the same sentences in five languages
# (`web/words/journal.json`).

#: Facts of the engine: switching, decisions of rules, and actions performed or omitted.
_OF_ENGINE = {
    "on": "{which} on",
    "off": "{which} off",
    "pulse": "{which} on",
    "pulse_over": "{which} stays on after the pulse",
    "opened": "{which} opened",
    "closed": "{which} closed",
    "opened_often": "{which} changed {count} more times in {seconds} s and is open",
    "closed_often": "{which} changed {count} more times in {seconds} s and is closed",
    "periodic_on": "{which} periodic switching on",
    "periodic_off": "{which} periodic switching off",
    "rule_waits": "met: action {which} starts in {seconds} s",
    "rule_waits_to_end": "no longer met: action {which} ends in {seconds} s",
    "rule_delay_dropped": "delay cancelled: {which} does not change",
    "rule_leaves": "no longer met: {which} remains controlled by rule {rule}, which is met",
    "rule_unconfirmed": "{labels} unknown {seconds} s after startup: the rule counts as not met",
    "rules_stopped": "stopped after {steps} steps, still changing: {labels}",
    "schedule_never_runs": "never runs: the calendar has no {date}",
    "schedule_missed": "not run: more than a minute late",
    "schedule_missed_off": "{which} not switched: the controller was off",
    "schedule_caught_up": "{which} is switched now, because the controller was off",
    "watchdog_restarts": "{host} did not answer {failures} times: {which} restarts for {seconds} s",
    "watchdog_gives_up": "gives up on {host} after {restarts} restarts",
    "pid_on": "PID regulator on",
    "pid_off": "PID regulator off",
    "pid_regulates": "{which} is regulated",
    "pid_holds": "{source} is absent: {which} keeps its duty",
    "pid_goes_on": "{which} is regulated again",
    "energy_set": "{which} was set to {value:g}",
    "energy_counts": "{which} counts",
    "energy_stops": "{which} stopped counting",
    "module_write": "writes {value:.10g} to Modbus {target}",
    "module_write_not_set_up": "{which} is not set up: nothing is written",
    "screen": "display shows screen {screen}",
    "no_such_action": "there is no action {action!r}: nothing was done",
    "restart_flag": "restart flag raised",
    "restarts": "controller restarts",
    "bootloader": "bootloader starts",
}
#: Facts of requests and of code outside the engine.
_OF_OTHERS = {
    "settings": "{text}",
    "signed_in": "signed in",
    "wrong_password": "wrong password for {account!r}",
    "wrong_password_nobody": "wrong password for an account that does not exist",
    "wrong_code": "wrong code",
    "wrong_code_waits": "wrong code; the next code from this sender is checked in {seconds} s",
    "command_skipped": "skipped {command}: {problem}",
    "firmware_refused": "firmware refused: {problem}",
    "message_delayed": "cannot deliver to {target}: {problem}",
    "message_refused": "{problem}",
    "message_given_up": "gave up on a message to {target}: {problem}",
    "messages_again": "delivery resumed",
    "messages_dropped": "{count} messages dropped so far, oldest first, because {waiting} are "
    "waiting. {problem}",
    "mqtt_left_behind": "The broker at {place} keeps {count} announcements of this controller "
    "that could not be withdrawn without a connection. Home Assistant shows them until the "
    "controller connects there again, or until the retained messages below {topic}/ are deleted on "
    "that broker.",
    "module_written": "{value:.10g} to {target}: written and read back",
    "module_not_written": "{value:.10g} to {target}: {problem}",
    "started": "started, version {version}",
    "went_on": "resumed: the node changed or was restarted",
    "journal_gap": "{count} entries lost: they arrived faster than they could be recorded",
    "message_sent": "sent to {target}",
    "message_captured": "captured instead of sent to {target}",
    "finding": "{text}",
    "finding_over": "resolved: {text}",
}
#: Facts of the test bench: simulated events and injected faults.
_OF_BENCH = {
    "bench": "{text}",
    "fault_begins": "begins: {text}",
    "fault_ends": "ended; it acted {times}",
    "fault_acts": "acts on {on}",
    "fault_reads": "{which} reads {shown} instead of {value}",
    "fault_relay": "{which} was switched {told} but is {does}",
    "fault_edges": "{which} changes to {level} with {count} extra edges",
    "fault_power_goes": "the controller is off for {seconds:g} s",
    "fault_power_comes": "the controller starts",
    "fault_clock": "the clock jumps by {seconds:g} s",
}
SENTENCES: Mapping[str, str] = _OF_ENGINE | _OF_OTHERS | _OF_BENCH

#: Shared by most facts to save memory.
_NO_FIGURES: Mapping[str, Any] = MappingProxyType({})


class Fact(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    what: str
    #: A label; empty if the fact concerns none.
    which: str = ""
    old: float | int | None = None
    new: float | int | None = None
    figures: Mapping[str, Any] = _NO_FIGURES

    def __str__(self) -> str:
        return SENTENCES[self.what].format(which=self.which, **self.figures).rstrip()

    def as_fact(self) -> "Fact":
        return self


def switchings(label: str) -> tuple[Fact, Fact]:
    """Return two facts: that a label was switched off, and that it was switched on."""
    return Fact("off", label, 1, 0), Fact("on", label, 0, 1)


# The journal: the newest few hundred events and their causes, for users to read.
#
# An entry has a time, a cause and a text. The kinds of causes are, for the engine, `start`, `rule`,
# `rule loop`, `schedule`, `watchdog`, `timer` (return time, periodic switching, delays, the
# regulator) and `input` (a contact); for requests `command`, `sign-in`, `command line`, `firmware`
# and `scenario`; for sent messages `outbox`; for writes to modules `modbus`; and for findings
# `finding`.

KEPT_ENTRIES = 500
#: Kinds of causes within the engine, which are the result of the settings and not of a request.
OWN_CAUSES = frozenset(("start", "rule", "rule loop", "schedule", "watchdog", "timer", "input"))


class Decided(msgspec.Struct, frozen=True, gc=False):
    """One condition of a rule at the moment of the rule's decision."""

    label: str
    value: float | int | None
    compare: str
    threshold: float
    is_met: bool | None
    #: The number of the entry that set the label to this value; 0 if it was not switched.
    after: int = 0


class Cause(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    kind: str
    #: Identifies the cause: address and account, the number of a rule, or the name of an entry.
    detail: str = ""
    #: The account and the address of a request, if the user was signed in.
    account: str = ""
    source: str = ""
    #: The number, from 1, and the name of a rule, a schedule entry or a watchdog entry.
    number: int = 0
    name: str = ""
    #: The basis of the decision: the conditions of a rule, or the seconds that a timer waited.
    conditions: tuple[Decided, ...] = ()
    seconds: float = 0
    #: The number of the entry that led to this one; 0 if there is none.
    after: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".rstrip()


#: The cause of states that have not been switched since the start.
BY_START = Cause("start")


class Entry(msgspec.Struct, frozen=True, gc=False):
    #: Counts all entries since the start, so that a reader can detect missed entries.
    number: int
    wall: float
    cause: Cause
    text: str
    fact: Fact


class JournalContent(Protocol):
    """The content of an entry, from which the fact is built when the entry is read."""

    def as_fact(self) -> Fact: ...


class UnreadEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry whose fact and text are not built yet."""

    number: int
    wall: float
    cause: Cause
    content: JournalContent

    def read(self) -> Entry:
        fact = self.content.as_fact()
        return Entry(self.number, self.wall, self.cause, str(fact), fact)


class EntryReport(msgspec.Struct, frozen=True):
    """An entry as it is sent to pages and programs, and stored."""

    number: int
    time: Annotated[float, Meta(description="Seconds since 1970.")]
    cause: str
    detail: str
    text: str
    what: Annotated[str, Meta(description="The kind of the entry.")]
    which: Annotated[str | None, Meta(description="The label concerned.")]
    old: Annotated[float | None, Meta(description="The value before.")] = field(name="from")
    new: Annotated[float | None, Meta(description="The value after.")] = field(name="to")
    figures: Annotated[
        dict[str, Any], Meta(description="Further values that the sentence contains.")
    ]
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


_Row = tuple[float, Cause, JournalContent]


class Journal:
    __slots__ = ("_entries", "_number")

    def __init__(self) -> None:
        #: A list, because an empty deque would need 0.7 KB in each of many idle controllers.
        self._entries: list[_Row] = []
        self._number = 0

    def add(self, wall: float, cause: Cause, content: JournalContent) -> int:
        """Add an entry and return its number."""
        self._number += 1
        self._entries.append((wall, cause, content))
        if len(self._entries) > KEPT_ENTRIES:
            del self._entries[0]
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
        """Return a journal that continues after `count` entries; `entries` are the newest ones."""
        journal = cls()
        journal._number = count
        journal._entries = list(entries)[-KEPT_ENTRIES:]
        return journal

    @property
    def count(self) -> int:
        """The number of entries since the start, including those no longer kept."""
        return self._number

    def moments(self) -> Iterator[float]:
        """Yield the wall time of each kept entry, newest first."""
        return (wall for wall, _, _ in reversed(self._entries))

    def entries(self) -> list[Entry]:
        return self.since(0)

    def since(self, number: int) -> list[Entry]:
        """List the entries after the one with this number that are still kept."""
        return [entry.read() for entry in self.unread_since(number)]

    def unread_since(self, number: int) -> list[UnreadEntry]:
        """List the entries of `since` without their texts, which another thread can build.

        Building their texts for 100 controllers with 30 changes per second each takes 100 ms every
        five seconds.
        """
        new = min(self._number - number, len(self._entries))
        newest = islice(reversed(self._entries), new) if new > 0 else ()
        numbered = zip(count(self._number, -1), newest, strict=False)
        entries = [
            UnreadEntry(number, wall, cause, content) for number, (wall, cause, content) in numbered
        ]
        return entries[::-1]


# Description of a change of settings for the log. Changed secrets are named, without their values.
#
# Logs are shared, so values that only the administrator may see are not shown either.

#: The number of changed settings that are named per request, and the maximum length of a value.
MAX_LISTED = 5
MAX_LETTERS = 60
_SHORT = (bool, int, float)


#: Shared by most descriptions to save memory.
_NONE: Mapping[str, bool] = MappingProxyType({})


class ChangeDescription(msgspec.Struct, gc=False):
    """The changes of one request; `str` formats them as one line."""

    leaves: Sequence[tuple[str, Any, Any]]
    uploads: Mapping[str, bool]
    left_out: int
    note: str = ""

    @classmethod
    def of(
        cls, leaves: Sequence[tuple[str, Any, Any]], blobs: Mapping[str, bytes | None]
    ) -> "ChangeDescription":
        """Keep only the part of a change that is reported, because the change may be large."""
        uploads = {name: body is not None for name, body in blobs.items()} if blobs else _NONE
        left_out = max(0, len(leaves) - MAX_LISTED)
        if left_out:
            # The names say what was added or removed.
            leaves = sorted(leaves, key=_is_no_name)
        return cls(tuple(leaves[:MAX_LISTED]), uploads, left_out)

    def as_fact(self) -> Fact:
        figures = {
            "text": str(self),
            "changes": [_leaf_figures(*leaf) for leaf in self.leaves],
            "left_out": self.left_out,
            "uploads": dict(self.uploads),
        }
        return Fact("settings", figures=figures)

    def __str__(self) -> str:
        parts = [_leaf_text(*leaf) for leaf in self.leaves]
        if self.left_out:
            parts.append(f"{self.left_out} more settings changed")
        parts += [
            f"{name} {'uploaded' if there else 'removed'}" for name, there in self.uploads.items()
        ]
        return "; ".join(parts) + self.note


def _is_no_name(leaf: tuple[str, Any, Any]) -> bool:
    return not leaf[0].endswith(".name")


def _leaf_text(path: str, old: Any, new: Any) -> str:
    if is_confidential(path):
        return f"{path} changed"
    if new is MISSING:
        return f"{path} removed"
    if old is MISSING:
        return f"{path} set to {_value_text(new)}"
    return f"{path} changed from {_value_text(old)} to {_value_text(new)}"


def _leaf_figures(path: str, old: Any, new: Any) -> dict[str, Any]:
    """Return a change as data, without confidential and nonexistent values."""
    if is_confidential(path):
        return {"path": path}
    values = {"old": old, "new": new}
    return {"path": path} | {
        name: value if isinstance(value, _SHORT) else _value_text(value)
        for name, value in values.items()
        if value is not MISSING
    }


def _value_text(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]}..."
