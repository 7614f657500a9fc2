"""What a version can hold of a rule or of a schedule entry.

Their commands say a whole entry at once, so an entry is asked field by field, as its command would
send it. What is missing is a list of settings' names; an empty one means that all of it fits.
"""

from leverframe.commands.setting_limits import is_sendable
from leverframe.commands.table import rules as rule_rows
from leverframe.commands.table import schedule as schedule_rows
from leverframe.commands.table.codes import RULE_ACTIONS
from leverframe.commands.table.refusals import Refusal
from leverframe.engine.settings import Rule, ScheduleEntry
from leverframe.profile import Profile

#: The field of the event command that each setting of a rule goes to, in the order of its text.
_RULE_FIELDS = {
    "source": "B",
    "compare": "C",
    "reference": "D",
    "hysteresis": "E",
    "operator": "F",
    "action": "G",
    "source2": "H",
    "compare2": "I",
    "reference2": "J",
    "hysteresis2": "K",
    "off_delay": "L",
    "value": "M",
    "on_delay": "N",
    "depends": "O",
    "mode": "P",
}


def missing_of_rule(rule: Rule, profile: Profile) -> list[str]:
    """The settings of a rule that a version cannot hold."""
    params, seen = rule_rows.ROWS[0].params, {"B": rule.source, "H": rule.source2}
    missing = []
    for name, letter in _RULE_FIELDS.items():
        if name in ("action", "value"):
            continue
        if not is_sendable(params[letter], getattr(rule, name), profile, seen):
            missing.append(name)
    return missing + missing_of_action(rule, profile)


def missing_of_action(rule: Rule, profile: Profile) -> list[str]:
    """Older versions write the value into the action, and only 0 and 1."""
    words = {code.word for code in RULE_ACTIONS.of(profile)}
    if rule.action in words:
        value = rule_rows.ROWS[0].params["M"]
        return [] if is_sendable(value, rule.value, profile) else ["value"]
    if f"{rule.action}={rule.value}" in words:
        return []
    return ["value"] if f"{rule.action}=0" in words else ["action"]


def missing_of_schedule(entry: ScheduleEntry, profile: Profile) -> list[str]:
    """The settings of a schedule entry that a version cannot hold."""
    params = schedule_rows.FIELDS
    missing = []
    if not is_sendable(params["C"], entry.action, profile):
        missing.append("action")
    if not is_sendable(params["D"], entry.value, profile):
        missing.append("value")
    return missing if _is_sound(entry, profile) else [*missing, "time"]


def _is_sound(entry: ScheduleEntry, profile: Profile) -> bool:
    """Whether name, time, date and days are what the command can say."""
    try:
        fields = {
            "B": entry.name,
            "C": entry.action,
            "D": entry.value,
            "E": entry.time,
            "F": schedule_rows.day_number(entry),
            "G": schedule_rows.days_mask(entry),
            "H": entry.active,
        }
        return schedule_rows.entry_from_fields(fields) == entry and all(
            is_sendable(schedule_rows.FIELDS[letter], fields[letter], profile) for letter in "BEFGH"
        )
    except (Refusal, ValueError, OverflowError):
        return False
