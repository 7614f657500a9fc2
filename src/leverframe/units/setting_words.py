"""Settings in words, for comparisons: `OUT0 return time`, and their values as users write them."""

from typing import Any

from leverframe.durations import text_from_seconds
from leverframe.engine.settings import ScheduleEntry
from leverframe.engine.tree import pattern_of
from leverframe.units.file_keys import DURATIONS, PLACES, SWITCH_WORDS, key_of, value_for_file
from leverframe.units.unit_text import toml_value


def words_of_path(path: str) -> str:
    """Describe the setting at a path."""
    steps, words = path.split("."), list[str]()
    for index, (step, key) in enumerate(zip(steps, key_of(path).split("."), strict=True)):
        if step != key and not key.isdigit() and PLACES.get(pattern_of(".".join(steps[:index]))):
            # A label needs no further name.
            words.pop()
        words.append(key if step != key else key.replace("_", " "))
    return " ".join(words)


def words_of_value(path: str, value: Any) -> str:
    """Format a value as in a unit file, durations without quotes."""
    written = value_for_file(path, value)
    if pattern_of(path) in DURATIONS:
        return str(written)
    if isinstance(value, str) and not value:
        return "nothing"
    return toml_value(written)


def words_of_entry(entry: ScheduleEntry) -> str:
    """Describe a schedule entry."""
    does = f"{entry.action} {SWITCH_WORDS[entry.value]}"
    if entry.periodic:
        when = f"every {text_from_seconds(entry.time)}"
    else:
        when = f"at {value_for_file('schedule.0.time', entry.time)}"
    days = value_for_file("schedule.0.days", entry.days)
    parts = [does, when, days if isinstance(days, str) else " ".join(days), entry.date or ""]
    named = f" ({entry.name})" if entry.name else ""
    return ("" if entry.active else "off: ") + " ".join(part for part in parts if part) + named
