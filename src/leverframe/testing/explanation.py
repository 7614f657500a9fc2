"""Why a value of a twin is what it is, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from leverframe.durations import text_from_seconds
from leverframe.engine.labels import EVENT_VARIABLES, LABELS, OUTPUTS, PWMS
from leverframe.errors import ErrorForPeople

MAX_ENTRIES = 5
SWITCHED = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)


class UnknownLabel(ErrorForPeople, ValueError):
    """There is no such value: one sentence with those that are there."""


def explain(
    label: str,
    state: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    journal: Sequence[Mapping[str, Any]],
    zone: tzinfo,
) -> str:
    """Return what a value is, who set it, and what each rule about it waits for."""
    if label not in LABELS:
        raise UnknownLabel(f"There is no {label!r}; there are {', '.join(LABELS)}.")
    return "\n".join(_sentences(label, state, rules, journal, zone))


def _sentences(
    label: str,
    state: Mapping[str, Any],
    rules: Sequence[Mapping[str, Any]],
    journal: Sequence[Mapping[str, Any]],
    zone: tzinfo,
) -> Iterator[str]:
    value, since = state[label], state["absent_since"].get(label)
    if value is None:
        yield f"{label} is absent" + (f" since {_time(since, zone)}." if since else ".")
    else:
        yield f"{label} is {value:g}."
    if (returns := state["returns_in"].get(label)) is not None:
        yield f"It returns in {text_from_seconds(returns)}."
    about = [entry for entry in journal if label in entry["text"].replace(":", " ").split()]
    for entry in about[-MAX_ENTRIES:]:
        yield f"{_time(entry['time'], zone)}, {_cause(entry)}: {entry['text']}"
    if not about and label in SWITCHED:
        yield "Nothing has switched it since the start."
    for rule in rules:
        settings = rule["settings"]
        # Of `PULSE OUT0`, `AutoSwitch OUT0` or `RESET ENERGY1`, too.
        acts_on = settings["action"].split()
        if label in (*acts_on, settings["source"], settings["source2"]):
            yield _rule(rule)


def _rule(rule: Mapping[str, Any]) -> str:
    settings = rule["settings"]
    words = f" {settings['operator']} ".join(
        f"{one['label']} {one['compare']} {one['reference']:g}"
        for one in rule["explanation"]["conditions"]
    )
    effect = rule["when_met"] or rule["when_ceasing"]
    does = effect["text"] if rule["when_met"] else f"{effect['text']} as soon as this ceases"
    name = settings["name"] or rule["number"]
    return f"Rule {name}, {words}, then {does}: {rule['why']['text']}"


def _cause(entry: Mapping[str, Any]) -> str:
    return f"{entry['cause']} {entry.get('detail', '')}".rstrip()


def _time(wall: float, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(wall, zone):%Y-%m-%d %H:%M:%S}"
