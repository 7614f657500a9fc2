"""The keys of a unit file: the settings tree with labels for places, and readable values.

A path of the tree (`outputs.0.return_time`) and a key of the file (`outputs.OUT0.return_time`)
differ only in their places. Values differ if a more readable form exists: durations (`"1h30m"`),
times of the day, weekdays, and switch actions of rules. All conversions work in both directions.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple, get_args, get_type_hints

from leverframe.core import labels
from leverframe.core.durations import BadDuration, seconds_from_text, text_from_seconds
from leverframe.core.engine.schedule_times import WEEKDAYS
from leverframe.core.errors import ErrorForPeople
from leverframe.core.settings import CONTROL_USERS, MAX_RULES, SCHEDULE_ENTRIES, Node, Settings
from leverframe.core.tree import branch_of, is_same, pattern_of
from leverframe.host.configuration.keys import nearest

# Mistakes in a unit file or an inventory, with their lines and the allowed values.

#: The minimum similarity of a suggestion, from 0 to 1: that of `hw` to `hardware`.
LIKE_ENOUGH = 0.4


class FileLine(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


class FileProblem(NamedTuple):
    """One mistake in a file."""

    line: FileLine
    #: Its key, such as outputs.OUT0.name; empty for the whole file.
    key: str
    #: The mistake and the allowed values; never a secret.
    sentence: str

    def __str__(self) -> str:
        return f"{self.line}: {self.sentence}"


class BadUnitFile(ErrorForPeople, ValueError):
    """A file has mistakes; the message has one line for each of them."""

    def __init__(self, problems: Sequence[FileProblem] | str) -> None:
        self.problems = () if isinstance(problems, str) else tuple(problems)
        super().__init__(problems if isinstance(problems, str) else "\n".join(map(str, problems)))


def unknown(name: str, known: Iterable[str], what: str = "key") -> str:
    """Report an unknown name with a suggestion or all known names."""
    names = list(known)
    sentence = f"Unknown {what} `{name}`."
    if not names:
        return f"{sentence} None exist."
    if len(names) > 1 and names == [*map(str, range(1, len(names) + 1))]:
        return f"{sentence} Allowed: 1 to {len(names)}."
    # Only the last part of a key is compared.
    likeness = _likeness_to(name.rpartition(".")[2] if what == "key" else name)
    names.sort(key=likeness, reverse=True)
    if likeness(names[0]) >= LIKE_ENOUGH:
        sentence += f" Did you mean `{names[0]}`?"
    return f"{sentence} Allowed: {', '.join(names)}."


def _likeness_to(word: str) -> Callable[[str], float]:
    # Imported here: a file without mistakes needs no suggestions.
    from difflib import SequenceMatcher

    return lambda name: SequenceMatcher(None, word, name).ratio()


def _numbers(count: int, first: int = 1) -> tuple[str, ...]:
    return tuple(str(number) for number in range(first, first + count))


#: The labels for the places of each list of branches; numbers as on the pages.
PLACES = {
    "outputs": labels.OUTPUTS,
    "pwm": labels.PWMS,
    "analog_inputs": labels.ANALOG_INPUTS,
    "digital_inputs": labels.DIGITAL_INPUTS,
    "differentials": labels.DIFFERENTIALS,
    "onewire": labels.ONEWIRE,
    "onewire_extra": _numbers(3),
    "gsm.sms": tuple(f"SMS{number}" for number in range(1, 5)),
    "modbus_slots": _numbers(3),
    "modbus_devices": tuple(f"custom{number}" for number in range(1, 6)),
    "modbus_devices.*.readings": _numbers(30),
    "modbus_mapping": labels.MAPPED,
    "modbus_writes": _numbers(8),
    "power": labels.POWERS,
    "rules": _numbers(MAX_RULES),
    "event_variables": labels.EVENT_VARIABLES,
    "oled.screens": _numbers(4),
    "schedule": _numbers(SCHEDULE_ENTRIES),
    "watchdog": _numbers(6),
    "http": tuple(f"HTTP{number}" for number in range(1, 5)),
    "snmp.more_traps": _numbers(3, first=2),
    "access.users": _numbers(CONTROL_USERS),
}

DURATIONS = frozenset(
    {
        *("outputs.*.return_time", "outputs.*.on_time", "outputs.*.off_time"),
        *("outputs.*.start_delay", "pwm.*.change_time", "digital_inputs.*.bistable_time"),
        *("modbus_devices.*.delay", "rules.*.on_delay", "rules.*.off_delay"),
        *("oled.display_time", "ui.refresh", "http_period"),
        *("watchdog.*.timeout", "watchdog.*.interval", "watchdog.*.wait"),
        *("watchdog.*.length", "watchdog.*.delay"),
    }
)
TIMES = frozenset({"schedule.*.time"})
DAYS = frozenset({"schedule.*.days"})
SWITCHED_TO = frozenset({"rules.*.value", "schedule.*.value"})
SWITCH_WORDS = ("off", "on", "reverse")

_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")
_KINDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


class BadBranch(ErrorForPeople):
    """Unknown branches of unit files, with all known ones."""


class BadEntry(ErrorForPeople, ValueError):
    """A value that does not fit its key; the message has the allowed values, not the value."""


def key_of(path: str) -> str:
    """Return the key in a unit file for a path of the tree."""
    steps, keys = path.split("."), list[str]()
    for index, step in enumerate(steps):
        places = PLACES.get(pattern_of(".".join(steps[:index])))
        keys.append(places[int(step)] if places and step.isdigit() else step)
    return ".".join(keys)


def path_of(key: str) -> str | None:
    """Return the path of a key, or of a table of keys; None if there is none."""
    node: type[Node] | None = Settings
    is_list, path = False, ""
    for step in key.split("."):
        if node is None:
            return None
        if is_list:
            places = PLACES[pattern_of(path)]
            if step not in places:
                return None
            path, is_list = f"{path}.{places.index(step)}", False
        elif step in hints(node):
            path = f"{path}.{step}" if path else step
            node, is_list = branch_of(hints(node)[step])
            is_list = is_list and node is not None
        else:
            return None
    return path


def branches_in(text: str | None) -> tuple[str, ...]:
    """Return the branches of unit files in a list such as `outputs,rules`; reject unknown ones."""
    if text is None:
        return ()
    known = [name for name in Settings.__struct_fields__ if name != "profile"]
    branches = [word.strip() for word in text.split(",")]
    for branch in branches:
        if branch not in known:
            meant = nearest(branch, known)
            advice = f" Did you mean {meant}?" if meant else ""
            raise BadBranch(
                f"--only: Unknown branch {branch[:40]!r}.{advice} Allowed, separated by commas:"
                f" {', '.join(known)}."
            )
    return tuple(dict.fromkeys(branches))


def is_part_of(path: str, parts: Iterable[str]) -> bool:
    """Return whether a setting is among the paths, or within one of them."""
    return any(path == part or path.startswith(f"{part}.") for part in parts)


@lru_cache(maxsize=64)
def hints(node: type[Node]) -> dict[str, Any]:
    return get_type_hints(node)


@lru_cache(maxsize=512)
def type_at(pattern: str) -> Any:
    """Return the type of the leaf at a path with `*` for places."""
    node: type[Node] = Settings
    hint: Any = None
    for step in pattern.split("."):
        if step != "*":
            hint = hints(node)[step]
            node = branch_of(hint)[0] or node
    return hint


def value_from_file(path: str, value: Any) -> Any:
    """Convert a value of a file to the value of a setting; raise `BadEntry`."""
    pattern = pattern_of(path)
    if pattern in DURATIONS and isinstance(value, str):
        return _seconds(value, type_at(pattern))
    if pattern in TIMES and isinstance(value, str):
        return _time(value)
    if pattern in DAYS:
        return _days(value)
    if pattern in SWITCHED_TO and isinstance(value, str):
        if value not in SWITCH_WORDS:
            raise BadEntry(f"must be one of {', '.join(SWITCH_WORDS)}")
        return SWITCH_WORDS.index(value)
    return _of_type(type_at(pattern), value)


def value_for_file(path: str, value: Any) -> Any:
    """Return the value of a setting as users write it."""
    pattern = pattern_of(path)
    written = value
    if pattern in DURATIONS:
        written = text_from_seconds(value)
    elif pattern in TIMES:
        written = f"{value // 3600:02}:{value // 60 % 60:02}" + (
            f":{value % 60:02}" if value % 60 else ""
        )
    elif pattern in DAYS:
        written = _days_in_words(value)
    elif pattern in SWITCHED_TO and value in range(len(SWITCH_WORDS)):
        written = SWITCH_WORDS[value]
    elif isinstance(value, tuple):
        return list(value)
    try:
        reads_back = is_same(value_from_file(path, written), value)
    except BadEntry:
        reads_back = False
    plain = list(value) if isinstance(value, tuple) else value
    return written if reads_back else plain


def kind_words(pattern: str) -> str:
    """Return the kind of value that a key accepts."""
    if pattern in DURATIONS:
        return 'a duration such as "90s" or "1h30m", or a number of seconds'
    if pattern in TIMES:
        return 'a time of the day such as "06:30", or a period such as "10m"'
    if pattern in DAYS:
        return 'weekdays such as "Mon-Fri", "daily" or ["Mon", "Sat"]'
    if pattern in SWITCHED_TO:
        return f"one of {', '.join(SWITCH_WORDS)}"
    hint = type_at(pattern)
    if hint == str | None:
        return 'a date such as "2026-03-29"'
    items = get_args(hint)
    if items:
        return f"a list, each item {_KINDS[items[0]]}"
    return _KINDS[hint]


def _of_type(hint: Any, value: Any) -> Any:
    if hint == str | None and isinstance(value, date):
        return value.isoformat()
    if hint is float and type(value) is int:
        return float(value)
    items = get_args(hint)
    if items and hint != str | None:
        if not isinstance(value, list) or any(type(item) is not items[0] for item in value):
            raise BadEntry(f"must be a list, each item {_KINDS[items[0]]}")
        return tuple(value)
    allowed = get_args(hint) or (hint,)
    if type(value) not in allowed:
        raise BadEntry(f"must be {_KINDS[allowed[0]]}")
    return value


def _seconds(text: str, hint: Any) -> float | int:
    try:
        seconds = seconds_from_text(text)
    except BadDuration:
        raise BadEntry('must be a duration such as "90s" or "1h30m"') from None
    if hint is float:
        return seconds
    if seconds != int(seconds):
        raise BadEntry("must be a duration in whole seconds")
    return int(seconds)


def _time(text: str) -> int:
    if found := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return hours * 3600 + minutes * 60 + seconds
    if ":" in text:
        raise BadEntry('must be a time of the day such as "06:30" or "06:30:15"')
    return int(_seconds(text, int))


def _days(value: Any) -> tuple[str, ...]:
    if value == "daily":
        return WEEKDAYS
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise BadEntry(f"must be {kind_words('schedule.*.days')}")
    found: list[str] = []
    for item in items:
        first, dash, last = str(item).partition("-")
        if first not in WEEKDAYS or (dash and last not in WEEKDAYS):
            raise BadEntry(f"must be {kind_words('schedule.*.days')}")
        begin = WEEKDAYS.index(first)
        end = WEEKDAYS.index(last) if dash else begin
        found += (
            WEEKDAYS[begin : end + 1] if end >= begin else (*WEEKDAYS[begin:], *WEEKDAYS[: end + 1])
        )
    return tuple(day for day in WEEKDAYS if day in found)


def _days_in_words(days: tuple[str, ...]) -> str | list[str]:
    if days == WEEKDAYS:
        return "daily"
    if len(days) > 2 and "".join(days) in "".join(WEEKDAYS):
        return f"{days[0]}-{days[-1]}"
    return list(days)
