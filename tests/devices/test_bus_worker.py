"""Single requests beside the polling: on a simulated bus and virtual time."""

import asyncio
from typing import Any

import pytest

from leverframe.devices.bus_worker import LATE_S, MAX_WAITING, RequestRefused
from leverframe.devices.modbus_lines import SERIAL_ANSWER_S
from leverframe.devices.readings import Unusable
from leverframe.devices.wire.modbus import WRITE_REGISTER, Read, Write
from leverframe.devices.wire.modbus_frames import Answer, Data, NoAnswer
from leverframe.devices.wire.modbus_modules import SerialParameters

from .test_modbus_master import GTIL, NEWEST, Bench, SimulatedBus, slots
from .virtual_loop import run_virtually

WRITE = Write(WRITE_REGISTER, 40, (7,))


def test_request_goes_before_the_next_poll_and_is_answered() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100, s8=5), slots(("GTIL", 7), ("GTIL", 8)))
        await asyncio.sleep(0.01)
        answers = await asyncio.gather(
            bench.master.request(2, WRITE), bench.master.request(1, Read(3, 40, 2))
        )
        assert answers == [Data(b""), Data(b"\x00\x64\x00\x64")]
        # The poll of slot 1 was on its way; that of slot 2 came after what was wanted.
        assert [(slave, read.address) for _, slave, read, _ in bench.bus.asked] == [
            *((7, 0), (8, 40), (7, 40), (8, 0)),
        ]
        assert bench.master.statistics()["1"].requests == 2
        await bench.master.close()

    run_virtually(scenario())


def test_request_does_not_wait_for_the_next_period() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(0.5)
        began = asyncio.get_running_loop().time()
        await bench.master.request(1, WRITE)
        assert asyncio.get_running_loop().time() - began == pytest.approx(bench.bus.answer_s)
        await bench.master.close()

    run_virtually(scenario())


def test_exception_is_a_refusal_with_code_and_words() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        bench.bus.refusing = {40}
        with pytest.raises(RequestRefused, match="exception 2, illegal data address") as refused:
            await bench.master.request(1, WRITE)
        assert refused.value.code == 2
        assert "refuses to be written" in str(refused.value)
        with pytest.raises(RequestRefused, match="refuses to be read"):
            await bench.master.request(1, Read(3, 40, 1))
        assert bench.troubles == {}
        await bench.master.close()

    run_virtually(scenario())


def test_silence_is_reported_and_the_next_request_waits_for_a_late_answer() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(0.5)
        del bench.bus.slaves[7]
        with pytest.raises(Unusable, match="does not answer; check the wiring"):
            await bench.master.request(1, WRITE)
        bench.bus.slaves[7] = 100
        assert await bench.master.request(1, WRITE) == Data(b"")
        first, second = [at for at, _, read, _ in bench.bus.asked if read == WRITE]
        assert second - first == pytest.approx(SERIAL_ANSWER_S + LATE_S)
        bench.bus.broken = True
        with pytest.raises(Unusable, match="/dev/ttyTEST is missing"):
            await bench.master.request(1, WRITE)
        await bench.master.close()

    run_virtually(scenario())


def test_slot_without_a_module_cannot_be_asked() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        with pytest.raises(Unusable, match="no module is chosen for Modbus slot 2"):
            await bench.master.request(2, WRITE)
        await bench.master.close()

    run_virtually(scenario())


def test_device_without_readings_can_be_asked() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s9=1), slots(("custom1", 9)))
        assert await bench.master.request(1, WRITE) == Data(b"")
        await bench.master.close()

    run_virtually(scenario())


def test_too_many_requests_are_refused_and_the_others_are_made() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        wanted = [asyncio.create_task(bench.master.request(1, WRITE)) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Unusable, match="try again later"):
            await bench.master.request(1, WRITE)
        assert await asyncio.gather(*wanted) == [Data(b"")] * MAX_WAITING
        await bench.master.close()

    run_virtually(scenario())


def test_cancelled_request_is_not_sent() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(0.01)
        wanted = asyncio.create_task(bench.master.request(1, WRITE))
        await asyncio.sleep(0)
        wanted.cancel()
        await asyncio.sleep(3.0)
        assert WRITE not in [read for _, _, read, _ in bench.bus.asked]
        # Given up while it is on its way: polling continues.
        wanted = asyncio.create_task(bench.master.request(1, WRITE))
        await asyncio.sleep(0.01)
        wanted.cancel()
        await asyncio.sleep(3.0)
        assert bench.bus.asked[-1][2] == Read(4, 0, 8)
        await bench.master.close()

    run_virtually(scenario())


@pytest.mark.parametrize("wait_s", [0.0, 0.01])
def test_request_ends_when_the_module_or_the_bus_goes(wait_s: float) -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(0.5)
        wanted = asyncio.create_task(bench.master.request(1, WRITE))
        await asyncio.sleep(wait_s)
        bench.adopt(NEWEST)
        with pytest.raises(Unusable, match="the module of the slot was changed"):
            await wanted
        bench.adopt(GTIL)
        await asyncio.sleep(0.5)
        wanted = asyncio.create_task(bench.master.request(1, WRITE))
        await asyncio.sleep(wait_s)
        await bench.master.close()
        with pytest.raises(Unusable, match="no longer used"):
            await wanted

    run_virtually(scenario())


class FaultyBus(SimulatedBus):
    async def ask(
        self, line: SerialParameters, slave: int, read: Read | Write
    ) -> Answer | NoAnswer:
        if read == WRITE:
            raise ZeroDivisionError("oops")
        return await super().ask(line, slave, read)


def test_fault_fails_the_request_and_polling_continues(caplog: Any) -> None:
    async def scenario() -> None:
        bench = Bench(FaultyBus(s7=100), GTIL)
        with pytest.raises(Unusable, match="failed unexpectedly"):
            await bench.master.request(1, WRITE)
        await asyncio.sleep(3.0)
        assert bench.sensed["slot1"][0] == 10.0
        await bench.master.close()

    run_virtually(scenario())
    assert "oops" in caplog.text
