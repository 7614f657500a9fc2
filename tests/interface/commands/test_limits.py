"""Limits of settings: the table's, for every setting there is."""

from random import Random
from typing import Any

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, leaves
from leverframe.interface.table.versions import all_profiles
from leverframe.interface.version_change.limits import is_allowed
from tests.cases import for_each
from tests.random_settings import random_settings

NEWEST = Profile()
OLD = Profile("3.0", "1.58a")
ENTRIES = ("rules.", "schedule.", "profile.")


def change_leaves(tree: Settings, profile: Profile) -> dict[str, Any]:
    standard = dict(leaves(defaults(profile)))
    return {
        path: value
        for path, value in leaves(tree)
        if not path.startswith(ENTRIES) and value != standard.get(path)
    }


def test_every_value_set_by_a_command_is_allowed() -> None:
    for profile in all_profiles()[::2]:
        standard = dict(leaves(defaults(profile)))
        tree = random_settings(profile, Random(str(profile)), 80)
        for path, value in change_leaves(tree, profile).items():
            assert is_allowed(path, value, standard.get(path), profile), (profile, path, value)


@for_each(
    ("path", "value"),
    [
        ("outputs.0.name", "a name that is too long"),
        ("outputs.0.name", "line\nbreak"),
        ("outputs.0.return_time", -1),
        ("pwm.0.duty", 101),
        ("pwm_frequency", (0, 1000)),
        ("pid.source", "EVENT1"),
        ("pid.target", 21.55),
        ("analog_inputs.5.gain", 50),
        ("analog_inputs.4.sensor", "SCT-013-000"),
        ("onewire.0.id", "28:ff"),
        ("serial.module", "toaster"),
        ("gsm.sms.0.numbers", ("12",)),
        ("gsm.sms.0.numbers", ("112",) * 9),
        ("modbus_mapping.0.slot", 7),
        ("modbus_devices.0.readings.0.divisor", 3),
        ("watchdog.0.host", "two words"),
        ("http.0.url", "ftp://example.org"),
        ("ui.homepage", "Elsewhere"),
        ("layout.visible", (True,) * 131),
        ("variables.bytes", (128, 0, 0, 0)),
        ("variables.dwords", (0, 0, 0, 2**31)),
        ("oled.screens.0.lines", ("x" * 64, "", "", "")),
        ("access.admin.password", "plain"),
        ("no.such.setting", 1),
    ],
)
def test_value_that_no_command_could_set_is_refused(path: str, value: object) -> None:
    default = dict(leaves(defaults(NEWEST))).get(path)
    assert not is_allowed(path, value, default, NEWEST)


@for_each(
    ("path", "value"),
    [
        ("outputs.0.remember", True),
        ("event_variables.0.name", "Alarm"),
        ("gsm.apn", '"internet"'),
        ("power.0.unit", "W/kWh"),
        ("differentials.0.name", "Delta"),
    ],
)
def test_setting_that_came_later_is_not_allowed_before(path: str, value: object) -> None:
    default = dict(leaves(defaults(NEWEST)))[path]
    assert is_allowed(path, value, default, NEWEST)
    assert not is_allowed(path, value, default, OLD)
