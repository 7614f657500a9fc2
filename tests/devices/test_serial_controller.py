"""A whole controller with a serial port: modules chosen by command, readings, SMS in and out."""

from collections.abc import AsyncIterator
from datetime import UTC
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.devices.modem_line import ModemReport
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.services import Sending
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.devices.scripted_modem import ScriptedModem
from tests.devices.waiting import until

NUMBER = "+48501234567"


class Site:
    """A controller, and a modem on its serial port."""

    def __init__(self, built: ControllerHost, other: ScriptedModem) -> None:
        self.built = built
        self.other = other
        self.twin = LoopTwin(built.controller, built.web)

    def modem(self) -> ModemReport:
        shown: ModemReport = self.built.controller.modem_report()
        return shown

    async def with_modem(self) -> None:
        await self.twin.ok("/stm.cgi?usart_sensor=1")
        await until(lambda: bool(self.modem().state == "ready"))


async def build_on(port: str | None) -> ControllerHost:
    return await build(
        Profile(),
        MemoryStore(),
        VirtualClock(),
        UTC,
        serial_port=port,
        sending=Sending(capture=False),
    )


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    other = ScriptedModem()
    built = await build_on(other.path)
    yield Site(built, other)
    await built.stop()
    other.close()


async def test_modem_is_shown_in_the_state(site: Site) -> None:
    await site.with_modem()
    modem = (await site.twin.state())["modem"]
    assert (modem["state"], modem["signal_dbm"], modem["registration"]) == ("ready", -73, "home")
    assert await site.twin.json("/health") == {"status": "ok", "board": "simulated"}


async def test_answer_to_gsmcmd_can_be_read_by_the_administrator(site: Site) -> None:
    await site.with_modem()
    await site.twin.ok("/stm.cgi?gsmcmd=AT%2BCSQ")
    await until(lambda: site.modem().answer is not None)
    shown = await site.twin.json("/api/modem")
    assert (shown["command"], shown["answer"]) == ("AT+CSQ", ["+CSQ: 20,0", "OK"])
    assert "answer" not in (await site.twin.state())["modem"]


async def test_sms_with_the_code_switches_and_is_answered(site: Site) -> None:
    await site.twin.ok("/stm.cgi?gsmcode=4711")
    await site.with_modem()
    site.other.receive("+48600000001", "1234:out0=1")
    site.other.receive(NUMBER, "4711:out3=1")
    await until(lambda: bool(site.other.sent))
    assert site.other.sent == [(NUMBER, "OK OUT 000100 PWM 0000 EVENT 00000000")]
    assert await site.twin.outputs() == "000100"


async def test_rule_sends_its_texts_to_all_recipients(site: Site) -> None:
    await site.twin.ok("/stm.cgi?gsmnumber2=+48500000001:+48500000002")
    await site.twin.ok("/stm.cgi?gsmsms2=Door%20open*Door%20closed")
    await site.twin.ok("/inpa.cgi?event=0*104*0*1*0*0*33*0*0*0*0*0*0*0*0*0&eventon=0*1")
    await site.with_modem()
    await site.twin.ok("/outs.cgi?vout0=1")
    await site.twin.ok("/outs.cgi?vout0=0")
    await until(lambda: len(site.other.sent) == 4)
    assert site.other.sent == [
        (number, text)
        for text in ("Door open", "Door closed")
        for number in ("+48500000001", "+48500000002")
    ]


async def test_test_sms_goes_to_the_recipients_of_the_first_slot(site: Site) -> None:
    await site.twin.ok("/stm.cgi?gsmnumber1=+48500000001:500000002")
    await site.with_modem()
    await site.twin.ok("/stm.cgi?gsmsendsms")
    await until(lambda: len(site.other.sent) == 2)
    assert [number for number, _ in site.other.sent] == ["+48500000001", "500000002"]


async def test_modem_recovers_from_a_reset_in_the_middle_of_it_all(site: Site) -> None:
    await site.twin.ok("/stm.cgi?gsmcode=4711")
    await site.with_modem()
    site.other.surprise("AT+CMGD", site.other.reset)
    site.other.surprise("AT+CMGS", site.other.reset)
    site.other.receive(NUMBER, "4711:out=out2")
    await until(lambda: bool(site.other.sent))
    assert site.other.resets == 2
    assert site.other.sent == [(NUMBER, "OK OUT 001000 PWM 0000 EVENT 00000000")]
    assert site.other.stored == {}


async def test_choosing_a_sensor_instead_of_the_modem_reads_it(site: Site) -> None:
    await site.with_modem()
    await site.twin.ok("/stm.cgi?usart_sensor=7")
    await until(lambda: site.modem().state == "not connected")

    def measures() -> bool:
        site.other.send_bytes(bytes.fromhex("FF 07 A1 A7"))
        return site.built.controller.engine.values["DISTANCE"] == 1953

    await until(measures)
    assert (await site.twin.json("/json/all.json"))["distanceSensor"] == "1953"
    await site.twin.ok("/stm.cgi?usart_sensor=0")
    await until(lambda: site.built.controller.engine.values["DISTANCE"] is None)


async def test_missing_port_degrades_the_health_and_the_rest_runs(tmp_path: Path) -> None:
    built = await build_on(str(tmp_path / "ttyUSB7"))
    twin = LoopTwin(built.controller, built.web)
    await twin.ok("/stm.cgi?usart_sensor=4")
    await until(lambda: bool(built.controller.troubles))
    assert await twin.json("/health") == {
        "status": "degraded",
        "board": "simulated",
        "troubles": ["serial port"],
        "findings": 1,
    }
    assert "ttyUSB7 is missing" in (await twin.state())["troubles"]["serial port"]
    await twin.ok("/outs.cgi?out0=1")
    await built.stop()


async def test_without_a_port_the_simulated_board_still_gives_the_readings() -> None:
    built = await build_on(None)
    twin = LoopTwin(built.controller, built.web)
    await twin.ok("/stm.cgi?usart_sensor=9")
    await twin.ok("/sim.cgi?CO2=450")
    await twin.ok("/sim.cgi?barcode=DOOR-7")
    state = await twin.state()
    assert (state["CO2"], state["barcode"]) == (450, "DOOR-7")
    await twin.ok("/stm.cgi?gsmcmd=AT")
    assert (await twin.json("/api/modem"))["answer"] == ["No GSM modem is connected."]
    assert state["modem"]["state"] == "not connected"
    await built.stop()
