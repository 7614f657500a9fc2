"""What acts on readings comes over as it was meant, or not acting at all."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import (
    ModbusMapping,
    ModbusReading,
    Pid,
    Rule,
    Settings,
    number_rules,
)
from leverframe.core.tree import defaults, leaves, with_value
from leverframe.interface.table.codes import PID_SOURCES
from leverframe.interface.table.refusals import Restored
from leverframe.interface.version_change.conversion import carry_over, change_version
from leverframe.interface.version_change.entries import other_readings
from leverframe.interface.version_change.limits import Content
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.effort import some_of
from tests.random_settings import random_settings

NEW = Profile("3.9", "1.75")
OLD = Profile("3.0", "1.58a")
LATER = Profile("3.5", "1.49")
ELDER = Profile("3.5", "1.48")

REGULATOR = Pid(enabled=True, source="POWER1", target=0.5, kp=-100, ki=-100)
RULE = Rule(source="DIFF1", reference=5.0, enabled=True)
METER = ModbusReading("U", "V", 10, 7, 3, "int32")


def make_settings(profile: Profile, **changes: Any) -> Settings:
    tree = defaults(profile)
    for path, value in changes.items():
        tree = with_value(tree, path.replace("__", "."), value)
    return tree


def convert(settings: Settings, source: Profile, target: Profile) -> Restored:
    content = Content(source, dict(leaves(settings)), with_secrets=True)
    return carry_over(content, target, defaults(target))


def paths(restored: Restored) -> list[str]:
    return [lost.path for lost in restored.not_carried_over]


# --- the regulator -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "label", "target"),
    [(Profile("3.5", "1.40"), "POWER1", OLD), (NEW, "POWER6", ELDER), (NEW, "DIFF4", ELDER)],
)
def test_regulator_without_its_input_is_switched_off(
    source: Profile, label: str, target: Profile
) -> None:
    pid = replace(REGULATOR, source=label)
    restored = convert(make_settings(source, pid=pid), source, target)
    assert restored.settings.pid == replace(pid, enabled=False, source="VCC")
    assert paths(restored) == ["pid.source", "pid.enabled"]


def test_regulator_that_keeps_its_input_keeps_running() -> None:
    pid = replace(REGULATOR, source="DS1")
    assert convert(make_settings(NEW, pid=pid), NEW, OLD).settings.pid == pid


@pytest.mark.parametrize("action", ["ENABLE PID", "OUT1"])
def test_no_rule_enables_a_regulator_that_lost_its_input(action: str) -> None:
    """A differential is there on both, one of its readings is not."""
    tree = make_settings(
        NEW, differentials__0__first="DEWPOINT", pid=replace(REGULATOR, source="DIFF1")
    )
    rule = Rule(source="DS1", action=action, enabled=True)
    restored = convert(with_value(tree, "rules", (rule,)), NEW, LATER)
    assert restored.settings.pid == replace(REGULATOR, source="DIFF1", enabled=False)
    assert restored.settings.rules == (replace(rule, enabled=action == "OUT1"),)


@pytest.mark.parametrize("target", some_of(PROFILES[::3]), ids=str)
def test_enabled_regulator_has_the_input_it_was_given(target: Profile) -> None:
    words = [code.word for code in PID_SOURCES.of(NEW)]
    known = {code.word for code in PID_SOURCES.of(target)}
    lost = (word for word in words if word not in known)
    # Each that is lost, and some of those that all stay in the same way.
    for word in dict.fromkeys((*lost, *words[::5])):
        pid = convert(
            make_settings(NEW, pid=replace(REGULATOR, source=word)), NEW, target
        ).settings.pid
        assert pid.source == word or not pid.enabled


# --- rules on readings that are others -----------------------------------------------------------


@for_each(
    ("label", "changes", "target"),
    [
        ("DIFF1", {"differentials__0__second": "POWER6"}, ELDER),
        ("DIFF2", {"differentials__1__first": "DIFF1", "differentials__0__first": "POWER6"}, ELDER),
        ("DIFF1", {"differentials__0__first": "POWER1", "power__0__unit": "W/kWh"}, OLD),
        ("POWER1", {"power__0__current": "m1"}, OLD),
        ("ENERGY1", {"power__0__voltage": "VCC"}, OLD),
        ("POWER1", {"power__0__unit": "W/kWh"}, OLD),
        ("POWER1", {"power__0__current": "m1", "power__0__unit": "W->kW/kWh"}, LATER),
        ("m1", {"modbus_mapping__0": ModbusMapping(2, 0)}, OLD),
        ("m2", {"modbus_mapping__1": ModbusMapping(1, 7)}, OLD),
    ],
)
def test_rule_on_a_reading_that_is_another_one_there_is_switched_off(
    label: str, changes: dict[str, Any], target: Profile
) -> None:
    first = replace(RULE, source=label)
    second = replace(RULE, source="DS1", operator="AND", source2=label)
    other = replace(RULE, source="DS1", source2=label)
    restored = convert(make_settings(NEW, **changes, rules=(first, second, other)), NEW, target)
    off = replace(first, enabled=False), replace(second, enabled=False)
    assert restored.settings.rules == (*off, other)
    assert {"rules.0.enabled", "rules.1.enabled"} <= set(paths(restored))


@for_each(
    ("label", "changes", "target"),
    [
        ("DIFF1", {"differentials__0__first": "DS1", "differentials__0__name": "Delta"}, OLD),
        ("ENERGY1", {"power__0__unit": "W/kWh"}, OLD),
        ("POWER1", {"power__0__current": "INPD1", "power__0__unit": "l/min/m3"}, OLD),
        ("POWER1", {"power__0__current": "INPD1", "power__0__voltage": "VCC"}, OLD),
        ("ENERGY1", {"power__0__current": "m1", "power__0__unit": "W->kW/kWh"}, LATER),
        ("m2", {"modbus_mapping__1": ModbusMapping(1, 1)}, OLD),
        ("m1", {"modbus_mapping__0": ModbusMapping(4, 0)}, LATER),
        ("INPA1", {"analog_inputs__0__sensor": "HV DC meter"}, OLD),
    ],
)
def test_rule_on_an_unchanged_or_absent_reading_is_kept(
    label: str, changes: dict[str, Any], target: Profile
) -> None:
    rule = replace(RULE, source=label)
    assert convert(make_settings(NEW, **changes, rules=(rule,)), NEW, target).settings.rules == (
        rule,
    )


@pytest.mark.parametrize("target", [OLD, ELDER, LATER], ids=str)
def test_nothing_that_acts_rests_on_another_reading(target: Profile) -> None:
    for seed, source in enumerate(some_of(PROFILES[::4])):
        tree = random_settings(source, Random(seed), 150)
        after = convert(tree, source, target).settings
        others = other_readings(tree, after)
        acting = [rule for _, rule in number_rules(after.rules) if rule.enabled]
        used = {rule.source for rule in acting}
        used |= {rule.source2 for rule in acting if rule.operator != "-"}
        used |= {after.pid.source} if after.pid.enabled else set()
        assert used.isdisjoint(others)


@pytest.mark.parametrize("source", some_of(PROFILES[::2]), ids=str)
def test_versions_that_share_all_readings_switch_nothing_off(source: Profile) -> None:
    tree = random_settings(source, Random(str(source)), 150)
    assert other_readings(tree, convert(tree, source, source).settings) == frozenset()


# --- readings of modules -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "lost"), [(LATER, {"divisor": 10000}), (ELDER, {"endian": "word"})]
)
def test_custom_reading_that_would_be_read_otherwise_is_not_read(
    target: Profile, lost: dict[str, Any]
) -> None:
    tree = make_settings(
        NEW,
        modbus_slots__1__module="custom1",
        modbus_devices__0__readings__3=replace(METER, **lost),
        modbus_devices__0__readings__4=METER,
        modbus_mapping__0=ModbusMapping(2, 3),
        modbus_mapping__1=ModbusMapping(2, 4),
        modbus_mapping__2=ModbusMapping(1, 3),
    )
    restored = convert(tree, NEW, target)
    after = restored.settings
    assert after.modbus_devices[0].readings[3:5] == (ModbusReading(), METER)
    kept = ModbusMapping(2, 4), ModbusMapping(1, 3)
    assert after.modbus_mapping[:3] == (ModbusMapping(0, 3), *kept)
    reading = "modbus_devices.0.readings.3"
    assert paths(restored) == [f"{reading}.{next(iter(lost))}", reading, "modbus_mapping.0.slot"]


def test_lost_line_parameter_is_reported_and_silences_the_device() -> None:
    tree = make_settings(NEW, modbus_devices__0__parity="odd", modbus_devices__0__readings__3=METER)
    restored = convert(tree, NEW, LATER)
    assert restored.settings.modbus_devices[0].readings[3] == METER
    assert paths(restored) == ["modbus_devices.0.parity"]


def test_readings_of_a_version_without_mapping_stay_where_they_were() -> None:
    tree = make_settings(OLD, modbus_slots__0__module="SDM120")
    after = convert(tree, OLD, NEW).settings
    assert after.modbus_mapping == tuple(ModbusMapping(1, number) for number in range(30))
    assert convert(after, NEW, OLD) == Restored(tree)


@pytest.mark.parametrize("mapping", [ModbusMapping(), ModbusMapping(2, 5)])
def test_mapping_that_a_version_lacks_is_listed_and_comes_back(mapping: ModbusMapping) -> None:
    tree = make_settings(NEW, modbus_slots__0__module="SDM120", modbus_mapping__0=mapping)
    there = change_version(tree, NEW, OLD)
    assert [lost.path for lost in there.not_carried_over] == ["modbus_mapping"]
    assert change_version(there.settings, OLD, NEW, there.earlier).settings == tree


# --- other settings ------------------------------------------------------------------------------


def test_frequency_becomes_the_nearest_that_the_version_has() -> None:
    restored = convert(make_settings(NEW, pwm_frequency=(10, 500)), NEW, ELDER)
    assert restored.settings.pwm_frequency == (50, 500)
    assert paths(restored) == ["pwm_frequency"]
    assert convert(
        make_settings(NEW, pwm_frequency=(5, 900_000)), NEW, ELDER
    ).settings.pwm_frequency == (
        50,
        100_000,
    )


def test_output_whose_memory_is_lost_stays_off_at_startup() -> None:
    tree = make_settings(NEW, outputs__0__remember=True, outputs__0__on_after_start=True)
    tree = with_value(tree, "outputs.1.on_after_start", True)
    restored = convert(tree, NEW, Profile("3.5", "1.29"))
    assert [output.on_after_start for output in restored.settings.outputs[:2]] == [False, True]
    assert paths(restored) == ["outputs.0.remember", "outputs.0.on_after_start"]


# --- what was changed in between -----------------------------------------------------------------


def test_changed_regulator_is_not_mixed_with_the_earlier_one() -> None:
    there = change_version(make_settings(NEW, pid=replace(REGULATOR, source="POWER6")), NEW, ELDER)
    other = replace(there.settings.pid, kp=5)
    changed = with_value(there.settings, "pid", other)
    assert change_version(changed, ELDER, NEW, there.earlier).settings.pid == other


def test_changed_module_reading_is_not_mixed_with_the_earlier_one() -> None:
    path = "modbus_devices.0.readings.3"
    tree = with_value(defaults(NEW), path, replace(METER, divisor=10000))
    there = change_version(tree, NEW, LATER)
    changed = with_value(there.settings, path, replace(METER, divisor=1))
    back = change_version(changed, LATER, NEW, there.earlier)
    assert back.settings == with_value(defaults(NEW), path, replace(METER, divisor=1))


def test_rule_added_in_between_does_not_act_on_a_different_restored_reading() -> None:
    there = change_version(make_settings(NEW, differentials__0__first="POWER6"), NEW, ELDER)
    changed = with_value(there.settings, "rules", (RULE,))
    changed = with_value(changed, "pid", replace(REGULATOR, source="DIFF1"))
    back = change_version(changed, ELDER, NEW, there.earlier)
    assert back.settings.differentials[0].first == "POWER6"
    assert back.settings.rules == (replace(RULE, enabled=False),)
    assert back.settings.pid == replace(REGULATOR, source="DIFF1", enabled=False)
    assert [lost.path for lost in back.not_carried_over] == ["pid.enabled", "rules.0.enabled"]
