"""Every announcement that a controller can make, judged by Home Assistant's own schemas.

Home Assistant is too large a dependency for the suite, whose schema says the same in fewer words.
For the judgement of the original, in an environment of its own:

    python3.13 -m venv /tmp/ha
    /tmp/ha/bin/pip install homeassistant paho-mqtt==2.1.0
    python -m tests.server.mqtt.home_assistant_schema /tmp/ha/bin/python
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, with_value
from leverframe.devices.wire.modbus_modules import MODULES
from leverframe.server.home_assistant import (
    Announcement,
    Controlled,
    announcement,
    labels_to_announce,
)
from tests.boundary_profiles import PROFILES

JUDGE = Path(__file__).with_name("home_assistant_judge.py")
SENSORS = ("off", "vin=3.3V/5V", "PT1000", "4..20mA", "SCT-013-030")
METERS = ("kW/kWh", "W/kWh", "l/min/m3", "m3/h/m3", "kW->W/kWh", "W->kW/kWh")


def all_settings() -> Iterator[tuple[Profile, Settings]]:
    for profile in PROFILES:
        yield profile, defaults(profile)
    newest = Profile()
    for sensor in SENSORS:
        yield newest, with_value(defaults(newest), "analog_inputs.0.sensor", sensor)
    for unit in METERS:
        metered = with_value(defaults(newest), "power.0.unit", unit)
        for first, second in (("ENERGY1", "ENERGY1"), ("POWER1", "POWER1"), ("DS1", "DS2")):
            one = with_value(metered, "differentials.0.first", first)
            yield newest, with_value(one, "differentials.0.second", second)
    for name, module in MODULES.items():
        settings = with_value(defaults(newest), "modbus_slots.0.module", name)
        settings = with_value(settings, "modbus_mapping.0.slot", 1)
        for reading in module.readings:
            yield newest, with_value(settings, "modbus_mapping.0.reading", reading.number)


def all_announcements() -> Iterator[Announcement]:
    """Each once; most settings change few of them."""
    seen: set[bytes] = set()
    for profile, settings in all_settings():
        me = Controlled("leverframe-0a1b2c", "02:00:00:0A:1B:2C", profile, settings, "1.0")
        for label in labels_to_announce(settings):
            said = announcement(label, me)
            text = msgspec.json.encode(said)
            if text not in seen:
                seen.add(text)
                yield said


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("python", help="of the environment that has Home Assistant")
    judge = [options.parse_args().python, str(JUDGE)]
    return subprocess.run(judge, input=msgspec.json.encode(list(all_announcements()))).returncode


if __name__ == "__main__":
    sys.exit(main())
