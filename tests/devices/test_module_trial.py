"""The trial of a module: what a meter answers before it is set up, and that nothing is kept."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from leverframe.testing import LoopTwin
from tests.devices.modbus_ports import connect_modbus
from tests.ports import free_port

from .slaves import tcp_slaves
from .test_modbus_bus import DEVICES, expect_value, runs_of

SLAVE, READINGS = DEVICES["SDM120"]
#: A meter that lacks the registers of its last readings.
LESSER, LACKING = 77, READINGS[-2:]


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    devices = [
        {"id": SLAVE, "runs": runs_of(READINGS)},
        {"id": LESSER, "runs": runs_of(READINGS[:-2])},
    ]
    with tcp_slaves(devices, free_port()) as address:
        yield address


async def try_slot(twin: LoopTwin, *commands: str) -> dict[str, Any]:
    reply = await twin.ask("/api/modbus/try?slot=2", "POST", "\n".join(commands).encode())
    assert reply.status == 200, reply.body
    return dict(msgspec.json.decode(reply.body))


async def test_trial_reads_every_register_of_a_meter_and_keeps_nothing(gateway: str) -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller)
    before = await twin.settings()
    tried = await try_slot(
        twin, f"/stm.cgi?modbus_sensor=11&modbusid=1{SLAVE}&modbushost1={gateway}"
    )
    assert tried["problem"] is None
    readings = {one["number"]: one for one in tried["readings"]}
    assert {number: one["value"] for number, one in readings.items()} == pytest.approx(
        {one.number: expect_value(one) for one in READINGS}
    )
    assert [one["register"] for one in readings.values()] == [one.register for one in READINGS]
    assert await twin.settings() == before
    assert (await twin.state())["modbus"] == {}

    # What the meter lacks is refused alone, with the reason.
    tried = await try_slot(
        twin, f"/stm.cgi?modbus_sensor=11&modbusid=1{LESSER}&modbushost1={gateway}"
    )
    refused = [one for one in tried["readings"] if one["problem"]]
    assert [one["number"] for one in refused] == [one.number for one in LACKING]
    assert "illegal data address" in refused[0]["problem"]

    # What everything is refused for is said once.
    tried = await try_slot(twin, f"/stm.cgi?modbus_sensor=11&modbusid=199&modbushost1={gateway}")
    assert "slave ID 99" in str(tried["problem"])
    assert not any(one["problem"] for one in tried["readings"])
    unreachable = f"/stm.cgi?modbus_sensor=11&modbushost1=127.0.0.1:{free_port()}"
    assert "no connection" in str((await try_slot(twin, unreachable))["problem"])
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()


async def test_trial_of_a_described_device_reads_what_the_commands_describe(gateway: str) -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller)
    first = READINGS[0]
    item = f"&m20=Volts*V*0*{first.register}*{first.function}*2*0&&"
    tried = await try_slot(
        twin,
        "/stm.cgi?mod_custom_set2=Meter*3*0*1",
        f"/post.cgi?modbus_readings_save {item}",
        f"/stm.cgi?modbus_sensor=1102&modbusid=1{SLAVE}&modbushost1={gateway}",
    )
    (reading,) = tried["readings"]
    assert (reading["name"], reading["value"]) == ("Volts", pytest.approx(expect_value(first)))
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()


async def test_trial_without_a_bus_shows_the_values_of_the_simulated_board() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?modbusmapping=" + "*".join(["22", *["00"] * 29]))
    await twin.ok("/sim.cgi?m1=1500")
    tried = await try_slot(twin, "/stm.cgi?modbus_sensor=11")
    assert tried["simulated"] is True
    values = {one["number"]: one["value"] for one in tried["readings"]}
    assert (values[2], values[3]) == (1500, None)

    for query, sentence in {"slot=4": "no such slot", "slots=1": "no 'slots'"}.items():
        refused = await twin.ask(f"/api/modbus/try?{query}", "POST", b"")
        assert refused.status == 400
        assert sentence in str(msgspec.json.decode(refused.body)["detail"])
    refused = await twin.ask("/api/modbus/try?slot=1", "POST", b"/stm.cgi?modbusid=0999")
    assert (refused.status, "Line 1" in msgspec.json.decode(refused.body)["detail"]) == (400, True)
    await twin.controller.stop()


async def test_name_of_a_mapped_reading_wins_over_the_name_in_the_list() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?modbus_sensor=01&modbusmapping=" + "*".join(["12", "10", *["00"] * 28]))
    await twin.ok("/stm.cgi?mname=0*House%20power")
    labels = await twin.json("/api/labels")
    assert (labels["m1"]["name"], labels["m1"]["unit"]) == ("House power", "W")
    assert labels["m2"]["name"] == "voltage"
    await twin.ok("/stm.cgi?mname=0*")
    assert (await twin.json("/api/labels"))["m1"]["name"] == "active power"
    await twin.controller.stop()
