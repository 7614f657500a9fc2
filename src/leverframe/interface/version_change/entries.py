"""Conversion of rules, schedule entries, texts and readings from one version to another."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec.structs import replace

from leverframe.core.engine.energy import factors
from leverframe.core.engine.live_rule import COMBINE, SWITCHED, digital_level
from leverframe.core.engine.rules import rules_without
from leverframe.core.engine.texts import (
    codes_in,
    has_codes_in_messages,
    number_digits,
    with_digits_of,
)
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL,
    DIGITAL_INPUTS,
    ENERGIES,
    MAPPED,
    POWERS,
)
from leverframe.core.profile import Profile
from leverframe.core.settings import (
    ModbusMapping,
    ModbusReading,
    Pid,
    Power,
    Rule,
    RulePlaces,
    ScheduleEntry,
    Settings,
    module_mapping,
    number_rules,
    rule_label,
)
from leverframe.core.tree import value_at, with_value
from leverframe.interface.table.refusals import NotCarriedOver, report_lost
from leverframe.interface.version_change.limits import (
    is_allowed,
    missing_of_action,
    missing_of_rule,
    missing_of_schedule,
)

# Conversion of reading codes in texts: label numbers have two or three digits, depending on the
# version.
#
# A text is rewritten with the number of digits of the new version, so that it shows the same
# readings. If it would still show other readings, or becomes too long, it is omitted. In versions
# without codes, messages are sent literally, so their texts are not converted.

_DISPLAY = "!"
_MESSAGE = "%"


def carry_texts(
    settings: Settings, source: Profile, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    if number_digits(source) == number_digits(target):
        return settings
    for path, marker in _places(settings, source, target):
        value = value_at(settings, path)
        texts = value if isinstance(value, tuple) else (value,)
        carried = tuple(_carry_text(text, path, marker, source, target, lost) for text in texts)
        whole: Any = carried if isinstance(value, tuple) else carried[0]
        settings = with_value(settings, path, whole)
    return settings


def _places(settings: Settings, source: Profile, target: Profile) -> Iterator[tuple[str, str]]:
    """Yield the paths of texts with codes, each with the marker of its codes."""
    for number in range(len(settings.oled.screens)):
        yield f"oled.screens.{number}.lines", _DISPLAY
    for number in range(len(settings.http)):
        marker = _MESSAGE * 2 if settings.http_double_percent else _MESSAGE
        yield f"http.{number}.url", marker
        yield f"http.{number}.body", marker
    if has_codes_in_messages(source) and has_codes_in_messages(target):
        yield "email.on_texts", _MESSAGE
        yield "email.off_texts", _MESSAGE
        for number in range(len(settings.gsm.sms)):
            yield f"gsm.sms.{number}.on_text", _MESSAGE
            yield f"gsm.sms.{number}.off_text", _MESSAGE


def _carry_text(
    text: str,
    path: str,
    marker: str,
    source: Profile,
    target: Profile,
    lost: list[NotCarriedOver],
) -> str:
    width_digits = int(marker == _DISPLAY)
    carried = with_digits_of(text, source, target, marker, width_digits)
    shows_the_same = codes_in(text, source, marker, width_digits) == codes_in(
        carried, target, marker, width_digits
    )
    if shows_the_same and _fits(path, carried, target):
        return carried
    reason = f"On {target} the text would show other readings or would not fit; it is left out."
    lost.append(report_lost(path, text, reason))
    return ""


def _fits(path: str, text: str, target: Profile) -> bool:
    """Return whether a path can contain a text; all versions have equally long lists of texts."""
    count = 4 if path.endswith(("texts", "lines")) else 0
    whole: Any = (text, *("",) * (count - 1)) if count else text
    return is_allowed(path, whole, None, target)


# Readings that have another meaning in the new version, and the rules that use them.
#
# Examples are a differential with an operand that the version does not know, a power in another
# unit, or a module's reading at another place: the label exists, but decisions about its value are
# no longer right. Rules and the regulator are disabled if they depend on such a label. A custom
# Modbus reading that would be decoded differently is omitted. A reading that is only absent cannot
# switch anything, so nothing that uses it is disabled.

#: Lists that are reported with one entry if a version does not have them.
MAPPING = "modbus_mapping."
_INACTIVE = 0


def other_readings(before: Settings, after: Settings) -> frozenset[str]:
    """List the labels that have another meaning now, except absent ones."""
    others = set(_other_module_readings(before, after))
    others |= set(_other_meters(before, after, others))
    # One pass for each step of the longest chain of dependences.
    for _ in DIFFERENTIALS:
        others |= set(_other_differentials(before, after, others))
    return frozenset(others)


def _other_module_readings(before: Settings, after: Settings) -> Iterator[str]:
    for label, old, new in zip(MAPPED, module_mapping(before), module_mapping(after), strict=True):
        if new.slot != _INACTIVE and new != old:
            yield label


def _other_meters(before: Settings, after: Settings, others: AbstractSet[str]) -> Iterator[str]:
    for power, energy, old, new in zip(POWERS, ENERGIES, before.power, after.power, strict=False):
        is_other = _power_sources(old) != _power_sources(new) or not others.isdisjoint(
            _power_sources(new)
        )
        shown, counted = (one != two for one, two in zip(factors(old), factors(new), strict=True))
        if is_other or shown:
            yield power
        if is_other or counted:
            yield energy


def _power_sources(setting: Power) -> tuple[Any, ...]:
    """Return the sources of a power; the rest of its setting does not affect the value."""
    if setting.current in ANALOG_INPUTS:
        return setting.current, setting.voltage
    if setting.current in DIGITAL_INPUTS:
        return setting.current, setting.pulses
    return (setting.current,)


def _other_differentials(
    before: Settings, after: Settings, others: AbstractSet[str]
) -> Iterator[str]:
    for label, old, new in zip(
        DIFFERENTIALS, before.differentials, after.differentials, strict=False
    ):
        if replace(new, name=old.name) != old or not others.isdisjoint((new.first, new.second)):
            yield label


def pid_source_changed(before: Pid, after: Pid, others: AbstractSet[str]) -> bool:
    return after.source != before.source or after.source in others


def regulator_off(pid: Pid, target: Profile, lost: list[NotCarriedOver]) -> Pid:
    if pid.enabled:
        reason = (
            f"The input of the regulator has another meaning on {target}; the regulator is"
            f" switched off."
        )
        lost.append(report_lost("pid.enabled", True, reason))
    return replace(pid, enabled=False)


def disable_if_source_changed(
    rule: Rule, path: str, others: AbstractSet[str], target: Profile, lost: list[NotCarriedOver]
) -> Rule:
    """Switch the rule off if it acts on one of these readings."""
    used = {rule.source, rule.action}
    if rule.operator != Rule().operator:
        used.add(rule.source2)
    if not rule.enabled or used.isdisjoint(others):
        return rule
    names = " and ".join(sorted(used & others))
    reason = f"{names} has another meaning on {target}; the entry is switched off."
    lost.append(report_lost(f"{path}.enabled", True, reason))
    return replace(rule, enabled=False)


def with_readable_modules(
    before: Settings, after: Settings, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Drop custom readings that would be decoded differently; adapt the mapping of m1-m30."""
    for place, (old, new) in enumerate(
        zip(before.modbus_devices, after.modbus_devices, strict=False)
    ):
        for number, (was, now) in enumerate(zip(old.readings, new.readings, strict=True)):
            if was != now:
                after = _without_reading(after, place, number, target, lost)
    return _with_mapping(before, after, target, lost)


def _with_mapping(
    before: Settings, after: Settings, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Adapt the mapping: versions without one show the readings of slot 1 in order."""
    shows_slot_1 = after.modbus_slots[0].module != "OFF"
    if after.modbus_mapping and not before.modbus_mapping and shows_slot_1:
        return replace(after, modbus_mapping=module_mapping(before))
    if before.modbus_mapping and not after.modbus_mapping:
        is_set = any(item != ModbusMapping() for item in before.modbus_mapping)
        if before.modbus_mapping != module_mapping(after) and (is_set or shows_slot_1):
            reason = f"{target} has no mapping; m1-m30 are the readings of slot 1 in order."
            lost.append(report_lost("modbus_mapping", None, reason))
    return after


def _without_reading(
    settings: Settings, place: int, number: int, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    path = f"modbus_devices.{place}.readings.{number}"
    reason = f"{target} cannot read this value in the same way; the reading is left out."
    lost.append(report_lost(path, value_at(settings, path).name, reason))
    settings = with_value(settings, path, ModbusReading())
    modules = dict(enumerate((slot.module for slot in settings.modbus_slots), start=1))
    for index, item in enumerate(settings.modbus_mapping):
        if (modules.get(item.slot), item.reading) == (f"custom{place + 1}", number):
            slot_path = f"{MAPPING}{index}.slot"
            reason = f"The reading is left out; {MAPPED[index]} is inactive."
            lost.append(report_lost(slot_path, item.slot, reason))
            settings = with_value(settings, slot_path, _INACTIVE)
    return settings


# Conversion of rules and schedule entries of one version to another.
#
# An entry whose source or action the version does not support is omitted. An entry that loses
# another part is disabled, because it would act differently. Parts without an effect, such as the
# second condition of an entry that uses only one, are dropped. A rule on a reading that has another
# meaning in the new version is also disabled.

#: HW 3.0 has a single e-mail; other versions call it the first of four.
_SAME_ACTION = {"eMail": "eMail 1", "eMail 1": "eMail"}
_SECOND_CONDITION = frozenset({"source2", "compare2", "reference2", "hysteresis2"})
#: Settings without which an entry is meaningless.
_ESSENTIAL = frozenset({"source", "source2", "action"})


def carry_rules(
    rules: tuple[Rule | None, ...],
    target: Profile,
    lost: list[NotCarriedOver],
    others: AbstractSet[str],
) -> tuple[Rule | None, ...]:
    """Convert rules; `others` are the readings with another meaning in the target version."""
    dropped = []
    carried: list[Rule | None] = []
    for place, rule in enumerate(rules):
        if rule is None:
            carried.append(None)
            continue
        rule = _without_idle_parts(_with_known_action(rule, target), f"rules.{place}", target, lost)
        missing = missing_of_rule(rule, target)
        if _ESSENTIAL.intersection(missing):
            dropped.append(place)
            what = ", ".join(missing)
            reason = f"{target} does not have its {what}; the entry is left out."
            lost.append(report_lost(f"rules.{place}", _rule_text(rule), reason))
        elif missing:
            rule = _switch_off(rule, f"rules.{place}", missing, Rule(), target, lost)
        else:
            rule = disable_if_source_changed(rule, f"rules.{place}", others, target, lost)
        carried.append(rule)
    # This affects no dependence, because versions with dependences support all sources and actions.
    left = tuple(carried)
    for place in reversed(dropped):
        left = rules_without(left, place)
    return left


def find_reversed_conditions(rules: RulePlaces) -> list[NotCarriedOver]:
    """List the rules with conditions that earlier program versions interpreted as the opposite."""
    found = []
    for number, rule in number_rules(rules):
        conditions = [(rule.source, rule.compare, rule.reference)]
        if rule.operator in COMBINE:
            conditions.append((rule.source2, rule.compare2, rule.reference2))
        for source, compare, reference in conditions:
            if source in DIGITAL and digital_level(compare, reference) != reference:
                who = rule_label(rules, number)
                reason = (
                    f"Rule {who}: {source} < 1 is met at 0, as the interface document says. "
                    "Earlier programs treated it as 1. Check that the entry does what you "
                    "intend."
                )
                found.append(NotCarriedOver(f"rules.{number - 1}", f"{source} < 1", reason))
    return found


def _without_idle_parts(rule: Rule, path: str, target: Profile, lost: list[NotCarriedOver]) -> Rule:
    """Remove parts of the rule that the version does not support and that have no effect."""
    idle = idle_parts(rule).intersection(missing_of_rule(rule, target))
    reason = f"{target} does not have this setting; the entry works the same without it."
    lost += (report_lost(f"{path}.{name}", getattr(rule, name), reason) for name in sorted(idle))
    return replace(rule, **{name: getattr(Rule(), name) for name in idle})


def idle_parts(rule: Rule) -> set[str]:
    """Return the settings of a rule that have no effect."""
    idle: set[str] = set()
    if rule.operator == Rule().operator:
        idle |= _SECOND_CONDITION
    if rule.action not in SWITCHED:
        idle |= {"on_delay", "off_delay", "value"}
    return idle


def _with_known_action(rule: Rule, target: Profile) -> Rule:
    same = _SAME_ACTION.get(rule.action)
    if same is None or "action" not in missing_of_action(rule, target):
        return rule
    return replace(rule, action=same)


def carry_schedule(
    schedule: tuple[ScheduleEntry | None, ...], target: Profile, lost: list[NotCarriedOver]
) -> tuple[ScheduleEntry | None, ...]:
    carried: list[ScheduleEntry | None] = []
    for place, entry in enumerate(schedule):
        path = f"schedule.{place}"
        missing = [] if entry is None else missing_of_schedule(entry, target)
        if entry is not None and "action" in missing:
            reason = f"{target} does not have its action; the entry is left out."
            lost.append(report_lost(path, entry.action, reason))
            entry = None
        elif entry is not None and missing:
            entry = _switch_off(entry, path, missing, ScheduleEntry(), target, lost)
        carried.append(entry)
    return tuple(carried)


def _switch_off(
    entry: Any,
    path: str,
    missing: list[str],
    standard: Any,
    target: Profile,
    lost: list[NotCarriedOver],
) -> Any:
    """Remove unsupported parts from the entry, and switch it off."""
    reason = f"{target} does not have this setting; the entry is switched off."
    lost += (report_lost(f"{path}.{name}", getattr(entry, name), reason) for name in missing)
    switch = "enabled" if isinstance(entry, Rule) else "active"
    return replace(entry, **{name: getattr(standard, name) for name in missing}, **{switch: False})


def _rule_text(rule: Rule) -> str:
    return f"{rule.source} {rule.compare} {rule.reference:g}: {rule.action}"
