"""Readings on another version: which of them are something else there, and what acted on them.

A differential of which the version does not know an operand, a power in another unit, a module's
reading at another place: the label is there, but what was decided about its value is no longer
true. Rules and the regulator that act on such a label come over switched off. A custom Modbus
reading that would be read otherwise is not read. A reading that is merely absent switches nothing
and needs no care.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec.structs import replace

from leverframe.commands.table.restored import NotCarriedOver, report_lost
from leverframe.engine.energy import factors
from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    MAPPED,
    POWERS,
)
from leverframe.engine.settings import (
    ModbusMapping,
    ModbusReading,
    Pid,
    Power,
    Rule,
    Settings,
    module_mapping,
)
from leverframe.engine.tree import value_at, with_value
from leverframe.profile import Profile

#: Reported as a whole where a version has none.
MAPPING = "modbus_mapping."
_INACTIVE = 0


def other_readings(before: Settings, after: Settings) -> frozenset[str]:
    """List the labels that stand for another number than before, without absent ones."""
    others = set(_other_module_readings(before, after))
    others |= set(_other_meters(before, after, others))
    # One pass for each link of the longest chain.
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
    """Return what a power is computed from; the rest of its setting changes nothing."""
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
        reason = f"Its input is not the same on {target}; the regulator is switched off."
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
    reason = f"{names} is not the same on {target}; the entry is switched off."
    lost.append(report_lost(f"{path}.enabled", True, reason))
    return replace(rule, enabled=False)


def with_readable_modules(
    before: Settings, after: Settings, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Drop custom readings that would be read otherwise; adapt what m1-m30 stand for."""
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
    reason = f"{target} cannot read it in the same way; the reading is left out."
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
