"""Units as public clients and documents show them: what they show is read, nothing is guessed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, ScheduleEntry
from leverframe.core.tree import defaults, difference
from leverframe.testing import Twin, faults
from leverframe.testing.recordings.unit_client import unit_client
from leverframe.units.client import PacedClient, UnitAnswer, open_paced_client
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_reader import pull_unit
from tests.units.unit_server import serve_files

FIXTURES = Path(__file__).parent.parent / "fixtures" / "real_units"


def files_of_unit(name: str) -> dict[str, Any]:
    files: dict[str, Any] = json.loads((FIXTURES / name).read_text(encoding="utf-8"))["files"]
    return files


async def pull_files(files: dict[str, Any]) -> PulledUnit:
    async with serve_files(files) as unit, open_paced_client(unit.url, paced=False) as client:
        return await pull_unit(client)


def changes_of(unit: PulledUnit) -> dict[str, Any]:
    return {path: value for path, _, value in difference(defaults(unit.profile), unit.settings)}


async def test_unit_of_hw_30_is_read_as_far_as_it_shows() -> None:
    unit = await pull_files(files_of_unit("hw3.0_sw1.58a.json"))
    assert unit.profile == Profile("3.0", "1.58a")
    assert (unit.identity.name, unit.identity.mac) == ("LK3_controller", "D8:80:39:00:00:07")
    (rule,) = unit.settings.rules
    assert rule == Rule(
        source="DS2",
        reference=1.0,
        action="EVENT5",
        source2="EVENT6",
        reference2=1.0,
        hysteresis2=1.0,
        enabled=True,
        permanent=True,
    )
    assert unit.why_unread("rules.0.off_delay")
    assert unit.settings.schedule[0] == ScheduleEntry(
        "Morning", "OUT2", 1, 21600, days=("Mon", "Tue", "Wed", "Thu", "Fri"), active=True
    )
    others = {
        path: value
        for path, value in changes_of(unit).items()
        if not path.startswith(("rules.", "schedule.")) and not path.endswith("name")
    }
    assert others == {"pwm_frequency": (1000, 500)}
    assert [sensor.name for sensor in unit.settings.onewire[:2]] == ["Boiler", "Return"]
    assert unit.settings.outputs[2].name == "Pump"
    # The maker's page has no key for these.
    for path in ("outputs.0.return_time", "analog_inputs.0.sensor", "pid", "ui.language", "email"):
        assert unit.why_unread(path), path
    assert unit.settings.access.admin.name == "admin"
    assert unit.why_unread("access.admin.password")
    # No public client reads whether the regulator moves it.
    assert "regulator" in str(unit.why_unread("pwm.3.duty"))
    assert any("/json/outputs.json does not exist (status 404)" in note for note in unit.remarks)


async def test_variant_is_read_as_its_kin_and_its_unknown_keys_are_reported() -> None:
    unit = await pull_files(files_of_unit("hw3.5_sw1.49dps.json"))
    assert unit.profile == Profile("3.5", "1.49d")
    assert any(
        "1.49dps of the unit is unknown; it is read as HW 3.5 SW 1.49d" in x for x in unit.remarks
    )
    assert any(x.endswith("/json/all.json has unknown keys: rhewa.") for x in unit.remarks)
    assert changes_of(unit) == {
        "output_flags.invert_display": True,
        "digital_inputs.1.negate_display": True,
        **{f"modbus_mapping.{place}.slot": 1 for place in range(30)},
        **{f"modbus_mapping.{place}.reading": place for place in range(1, 30)},
    }
    assert unit.why_unread("rules") == "/xml/eve2.xml does not exist (status 404)"


@pytest.mark.parametrize("software", ["1.82", "2.00", "beta"])
async def test_software_of_the_future_is_read_as_the_newest_known(software: str) -> None:
    files = files_of_unit("hw3.0_sw1.58a.json")
    for path in ("/json/status.json", "/json/all.json", "/xml/stat.xml"):
        files[path] |= {"sw": software, "hw": "3.9"}
    unit = await pull_files(files)
    assert unit.profile == Profile()
    assert software in unit.remarks[0]
    # An entry of another dialect has another number of fields.
    assert "13 fields instead of 18" in str(unit.why_unread("rules.0"))


class RestartingClient(PacedClient):
    """Has the twin restart with factory settings in the middle of the first reading."""

    twin: Twin

    async def read(self, target: str) -> UnitAnswer:
        if target == "/json/inputs.json" and (twin := self.__dict__.pop("twin", None)):
            await asyncio.to_thread(twin.fault, faults.reboot("1s", loses="settings"))
            await asyncio.to_thread(twin.advance, "3s")
        return await super().read(target)


async def test_settings_of_before_and_after_a_restart_are_never_mixed() -> None:
    settings = {"outputs.0.name": "Pump", "outputs.0.return_time": 90, "weather.altitude": 300}
    with Twin(settings=settings) as twin:
        twin.advance("1h")
        async with unit_client(twin.url, None) as plain:
            client = RestartingClient(plain, paced=False, retry_waits_s=(0.01,) * 50)
            client.twin = twin
            unit = await pull_unit(client, by_files=True)
    assert changes_of(unit) == {}


async def test_unit_that_restarts_is_waited_for() -> None:
    with Twin(settings={"outputs.0.name": "Pump"}) as twin:
        twin.reboot(takes="5s")
        async with open_paced_client(twin.url, paced=False, retry_waits_s=(0.02,) * 200) as client:
            reading = asyncio.create_task(pull_unit(client))
            await asyncio.to_thread(twin.advance, "6s")
            assert (await reading).settings.outputs[0].name == "Pump"
