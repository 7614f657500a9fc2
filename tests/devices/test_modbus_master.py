"""The Modbus master as a whole, on a simulated bus and virtual time."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import (
    ModbusDevice,
    ModbusMapping,
    ModbusReading,
    ModbusSlot,
    Settings,
)
from leverframe.core.tree import defaults
from leverframe.devices.modbus_lines import SERIAL_ANSWER_S
from leverframe.devices.modbus_master import ModbusMaster
from leverframe.devices.module_slot import ONLY_ONE_BY_ONE
from leverframe.devices.readings import Readings, Unusable
from leverframe.devices.wire.modbus import (
    DEVICE_BUSY,
    DEVICE_FAILURE,
    DEVICE_NEEDS_TIME,
    EXCEPTION_WORDS,
    ILLEGAL_ADDRESS,
    Read,
    Write,
)
from leverframe.devices.wire.modbus_frames import Answer, Data, ExceptionReply, NoAnswer
from leverframe.devices.wire.modbus_modules import STALE_S, SerialParameters

from .virtual_loop import run_virtually

NEWEST = defaults(Profile())
WALL = 1_700_000_000.0


class SimulatedBus:
    """Slaves whose registers all hold the same number; some are silent, some refuse."""

    path = "/dev/ttyTEST"
    on_lost: Callable[[], None] | None = None

    def __init__(self, **slaves: int) -> None:
        self.slaves = {int(name[1:]): number for name, number in slaves.items()}
        self.refusing: set[int] = set()
        self.refuses_with = ILLEGAL_ADDRESS
        #: Requests for these addresses have no answer.
        self.unheard: set[int] = set()
        #: Registers that no slave has.
        self.missing: set[int] = set()
        self.is_damaged = False
        self.broken = False
        self.closed = False
        self.answer_s = 0.05
        self.asked: list[tuple[float, int, Read, SerialParameters]] = []
        self.answers: Counter[int] = Counter()

    def needs_s(self, line: SerialParameters, request: Read | Write) -> float:
        return 0.02

    async def ask(
        self, line: SerialParameters, slave: int, read: Read | Write
    ) -> Answer | NoAnswer:
        self.asked.append((asyncio.get_running_loop().time(), slave, read, line))
        if self.broken:
            raise FileNotFoundError(2, "No such file or directory")
        if slave not in self.slaves or read.address in self.unheard:
            await asyncio.sleep(SERIAL_ANSWER_S)
            return NoAnswer(self.is_damaged)
        await asyncio.sleep(self.answer_s)
        self.answers[slave] += 1
        if read.address in self.refusing:
            return ExceptionReply(self.refuses_with)
        if isinstance(read, Read) and not self.missing.isdisjoint(
            range(read.address, read.address + read.count)
        ):
            return ExceptionReply(ILLEGAL_ADDRESS)
        return Data(self.slaves[slave].to_bytes(2, "big") * (read.answer_bytes // 2))

    async def close(self) -> None:
        self.closed = True


class Bench:
    """A master on a simulated bus, and what it reported."""

    def __init__(self, bus: SimulatedBus, settings: Settings) -> None:
        self.bus = bus
        self.settings = settings
        self.sensed: dict[str, Any] = {}
        self.troubles: dict[str, str] = {}
        self.master = ModbusMaster(
            bus,
            settings,
            self.sensed.update,
            self.troubles,
            lambda: WALL + asyncio.get_running_loop().time(),
        )

    def adopt(self, settings: Settings) -> None:
        old, self.settings = self.settings, settings
        self.master.adopt(old, settings)


def slots(*modules: tuple[str, int], settings: Settings = NEWEST) -> Settings:
    chosen = [ModbusSlot(label, slave) for label, slave in modules]
    return replace(settings, modbus_slots=(*chosen, *NEWEST.modbus_slots[len(chosen) :]))


def with_mapping(settings: Settings, *items: tuple[int, int]) -> Settings:
    mapping = [ModbusMapping(slot, reading) for slot, reading in items]
    return replace(settings, modbus_mapping=(*mapping, *NEWEST.modbus_mapping[len(mapping) :]))


GTIL = with_mapping(slots(("GTIL", 7)), (1, 1), (1, 4), (2, 0))


def test_readings_become_m1_to_m30_by_the_mapping() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=1234), GTIL)
        await asyncio.sleep(1.0)
        assert bench.sensed["m1"] == 123.4
        assert bench.sensed["m2"] == 1234
        assert bench.sensed["slot1"][:8] == (123.4, 123.4, 123.4, 123.4, 1234, 1234, 123.4, 1234)
        assert "m3" not in bench.sensed
        await bench.master.close()

    run_virtually(scenario())


def test_nothing_is_asked_without_power() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=1234), GTIL)
        await asyncio.sleep(1.0)
        bench.master.set_power(False)
        await asyncio.sleep(1.0)
        asked = len(bench.bus.asked)
        with pytest.raises(Unusable, match="no power"):
            await bench.master.request(1, Read(3, 0, 1))
        bench.adopt(with_mapping(GTIL, (1, 2)))
        await asyncio.sleep(60.0)
        assert len(bench.bus.asked) == asked
        bench.master.set_power(True)
        await asyncio.sleep(1.0)
        assert len(bench.bus.asked) > asked
        await bench.master.close()

    run_virtually(scenario())


def test_version_without_mapping_shows_slot_1_in_order() -> None:
    async def scenario() -> None:
        old = defaults(Profile("3.0", "1.58a"))
        settings = replace(old, modbus_slots=(ModbusSlot("GTIL", 7),))
        bench = Bench(SimulatedBus(s7=500), settings)
        await asyncio.sleep(1.0)
        assert (bench.sensed["m1"], bench.sensed["m5"], bench.sensed["m9"]) == (50.0, 500, None)
        await bench.master.close()

    run_virtually(scenario())


@pytest.mark.parametrize("module", ["GTIL", "SDM630/72D-v2", "DTSU666"])
def test_trouble_begins_at_the_moment_at_which_readings_become_absent(module: str) -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), slots((module, 7)))
        await asyncio.sleep(60.0)
        del bench.bus.slaves[7]
        for _ in range(600):
            await asyncio.sleep(0.1)
            is_absent = None in bench.sensed["slot1"][: len(bench.master.report()["1"].readings)]
            assert is_absent == ("Modbus slot 1" in bench.troubles)
            if is_absent:
                break
        assert "does not answer; check" in bench.troubles["Modbus slot 1"]
        await bench.master.close()

    run_virtually(scenario())


def test_unanswered_registers_are_a_trouble_once_absent() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), slots(("DTSU666", 7)))
        await asyncio.sleep(60.0)
        (first, *others) = {read.address for _, _, read, _ in bench.bus.asked}
        assert others
        bench.bus.unheard.add(first)
        await asyncio.sleep(40.0)
        assert "does not answer requests for registers" in bench.troubles["Modbus slot 1"]
        assert any(value is not None for value in bench.sensed["slot1"])
        bench.bus.unheard.clear()
        await asyncio.sleep(20.0)
        assert bench.troubles == {}
        await bench.master.close()

    run_virtually(scenario())


def test_stale_readings_become_absent_and_the_silence_has_a_beginning() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(60.0)
        del bench.bus.slaves[7]
        await asyncio.sleep(STALE_S - 1.0)
        assert bench.sensed["m1"] == 10.0
        assert bench.troubles == {}
        silent_since = bench.master.report()["1"].silent_since
        assert 60.0 <= silent_since - WALL < 62.0
        await asyncio.sleep(3.0)
        assert bench.sensed["m1"] is None
        assert bench.sensed["slot1"] == (None,) * 30
        assert "does not answer" in bench.troubles["Modbus slot 1"]
        bench.bus.slaves[7] = 200
        await asyncio.sleep(20.0)
        assert bench.sensed["m1"] == 20.0
        assert bench.troubles == {}
        assert bench.master.report()["1"].silent_since is None
        await bench.master.close()

    run_virtually(scenario())


def test_refused_reading_is_absent_immediately_and_the_rest_continues() -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s3=1)
        bench = Bench(bus, slots(("charge controller (solar)", 3)))
        await asyncio.sleep(2.0)
        assert bench.sensed["slot1"][9] == 1
        bus.refusing.add(0x311A)
        await asyncio.sleep(2.0)
        assert bench.sensed["slot1"][9] is None
        assert bench.sensed["slot1"][0] == 0.01
        assert bench.troubles["Modbus slot 1"] == (
            "charge controller (solar) with slave ID 3 refuses registers 12570 of function 4"
            " (exception 2, illegal data address; compare the registers with the device's manual,"
            " or choose another module)."
        )
        (refused,) = bench.master.report()["1"].refused
        assert (refused.function, refused.register, refused.count) == (4, 0x311A, 1)
        assert (refused.code, refused.words) == (ILLEGAL_ADDRESS, "illegal data address")
        bus.refusing.clear()
        await asyncio.sleep(2.0)
        assert bench.sensed["slot1"][9] == 1
        assert bench.troubles == {}
        assert bench.master.report()["1"].refused == []
        await bench.master.close()

    run_virtually(scenario())


@pytest.mark.parametrize(("code", "words"), sorted(EXCEPTION_WORDS.items()))
def test_module_that_refuses_everything_is_a_trouble_with_code_and_words(
    code: int, words: str
) -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s7=100)
        bus.refusing, bus.refuses_with = set(range(8)), code
        bench = Bench(bus, GTIL)
        await asyncio.sleep(2.0)
        assert bench.sensed["m1"] is None
        trouble = bench.troubles["Modbus slot 1"]
        registers = "0, 1, 2, 3, 4, 5, 6, 7" if code in ONLY_ONE_BY_ONE else "0-7"
        everything = f"refuses all requests: registers {registers} of function 4"
        assert trouble.startswith(f"GTIL with slave ID 7 {everything}")
        assert f"(exception {code}, {words}" in trouble
        assert bench.master.statistics()["1"].exceptions.keys() == {str(code)}
        await bench.master.close()

    run_virtually(scenario())


def test_unknown_exception_code_is_reported_as_such() -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s7=100)
        bus.refusing, bus.refuses_with = {0}, 99
        bench = Bench(bus, GTIL)
        await asyncio.sleep(2.0)
        assert "exception 99, a code that the protocol does not define" in str(bench.troubles)
        await bench.master.close()

    run_virtually(scenario())


def test_statistics_count_what_came_of_the_requests() -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s7=100)
        bench = Bench(bus, GTIL)
        assert bench.master.statistics()["1"].mean_answer_s is None
        await asyncio.sleep(0.5)
        bus.refusing, bus.refuses_with, bus.answer_s = {0}, DEVICE_FAILURE, 0.15
        await asyncio.sleep(1.0)
        statistics = bench.master.statistics()["1"]
        assert (statistics.requests, statistics.answers) == (2, 2)
        assert statistics.exceptions == {"4": 1}
        assert statistics.last_answer_s == pytest.approx(0.15)
        assert statistics.mean_answer_s == pytest.approx(0.1)
        del bus.slaves[7]
        await asyncio.sleep(4.0)
        bus.is_damaged = True
        await asyncio.sleep(3.0)
        statistics = bench.master.statistics()["1"]
        assert (statistics.timeouts, statistics.crc_errors) == (1, 1)
        assert (statistics.requests, statistics.answers) == (4, 2)
        assert "arrive damaged" in bench.troubles["Modbus slot 1"]
        bus.broken = True
        await asyncio.sleep(60.0)
        assert bench.master.statistics()["1"].requests == 4
        await bench.master.close()

    run_virtually(scenario())


@pytest.mark.parametrize("code", [DEVICE_NEEDS_TIME, DEVICE_BUSY])
def test_last_reading_of_a_busy_module_counts_until_it_is_too_old(code: int) -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s7=100)
        bench = Bench(bus, GTIL)
        await asyncio.sleep(5.0)
        bus.refusing, bus.refuses_with = {0}, code
        await asyncio.sleep(STALE_S - 2.0)
        assert bench.sensed["m1"] == 10.0
        assert bench.troubles == {}
        await asyncio.sleep(4.0)
        assert bench.sensed["m1"] is None
        assert f"exception {code}" in bench.troubles["Modbus slot 1"]
        await bench.master.close()

    run_virtually(scenario())


@pytest.mark.parametrize("answer_s", [pytest.param(0.03, marks=pytest.mark.thorough), 0.2])
def test_silent_module_leaves_two_others_nine_tenths_of_their_rate(
    answer_s: float,
) -> None:
    rates: dict[bool, Counter[int]] = {}

    async def scenario(silent: bool) -> None:
        bus = SimulatedBus(s1=1, s2=2, s3=3)
        bus.answer_s = answer_s
        if silent:
            del bus.slaves[2]
        settings = slots(("SDM120", 1), ("SDM630/72D-v2", 2), ("DTSU666", 3))
        bench = Bench(bus, settings)
        await asyncio.sleep(300.0)
        rates[silent] = bus.answers
        await bench.master.close()

    run_virtually(scenario(False))
    run_virtually(scenario(True))
    for slave in (1, 3):
        assert rates[True][slave] >= 0.9 * rates[False][slave]


def test_module_taken_out_has_no_readings_any_more() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(2.0)
        bench.adopt(with_mapping(NEWEST, (1, 1)))
        assert bench.sensed["m1"] is None
        asked = len(bench.bus.asked)
        await asyncio.sleep(60.0)
        assert len(bench.bus.asked) == asked
        bench.adopt(GTIL)
        await asyncio.sleep(1.0)
        assert bench.sensed["m1"] == 10.0
        await bench.master.close()

    run_virtually(scenario())


def test_new_mapping_counts_immediately() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(2.0)
        bench.adopt(with_mapping(GTIL, (0, 0), (1, 0), (1, 5), (2, 0)))
        assert (bench.sensed["m1"], bench.sensed["m2"], bench.sensed["m3"]) == (None, 10.0, 100)
        assert bench.sensed["m4"] is None
        await bench.master.close()

    run_virtually(scenario())


def test_unchanged_module_keeps_its_readings_when_another_changes() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s7=100), GTIL)
        await asyncio.sleep(2.0)
        bench.adopt(slots(("GTIL", 7), ("SDM120", 9), settings=GTIL))
        assert bench.master.report()["1"].readings["power"] == 10.0
        assert bench.sensed["m1"] == 10.0
        await bench.master.close()

    run_virtually(scenario())


def test_own_device_is_read_with_its_pause_and_its_line() -> None:
    async def scenario() -> None:
        readings = tuple(
            ModbusReading(f"r{n}" if n < 3 else "", "", 10, 100 + 2 * n, 3) for n in range(30)
        )
        device = ModbusDevice("own", 19200, "none", 2, 1.5, readings)
        settings = replace(NEWEST, modbus_devices=(device, *NEWEST.modbus_devices[1:]))
        bench = Bench(SimulatedBus(s9=55), slots(("custom1", 9), settings=settings))
        await asyncio.sleep(20.0)
        assert bench.sensed["slot1"][:4] == (5.5, 5.5, 5.5, None)
        moments = [at for at, *_ in bench.bus.asked]
        assert all(b - a >= 1.5 for a, b in zip(moments, moments[1:], strict=False))
        assert {line for *_, line in bench.bus.asked} == {SerialParameters(19200, "none", 2)}
        assert [read.address for _, _, read, _ in bench.bus.asked[:4]] == [100, 102, 104, 100]
        await bench.master.close()

    run_virtually(scenario())


def own_neighbours(count: int) -> Settings:
    """A device of one's own in slot 1 whose registers from 100 on are all neighbours."""
    readings = tuple(
        ModbusReading(f"r{n}" if n < count else "", "", 10, 100 + n, 3) for n in range(30)
    )
    devices = (ModbusDevice("own", readings=readings), *NEWEST.modbus_devices[1:])
    return slots(("custom1", 9), settings=replace(NEWEST, modbus_devices=devices))


def test_neighbouring_registers_of_a_custom_device_are_read_together() -> None:
    async def scenario() -> None:
        bench = Bench(SimulatedBus(s9=55), own_neighbours(5))
        await asyncio.sleep(2.5)
        assert [read for _, _, read, _ in bench.bus.asked] == [Read(3, 100, 5)] * 3
        assert bench.sensed["slot1"][:6] == (5.5, 5.5, 5.5, 5.5, 5.5, None)
        await bench.master.close()

    run_virtually(scenario())


def test_device_that_lacks_a_register_is_polled_register_by_register() -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s9=55)
        bus.missing = {102}
        bench = Bench(bus, own_neighbours(5))
        await asyncio.sleep(3.0)
        assert bench.sensed["slot1"][:6] == (5.5, 5.5, None, 5.5, 5.5, None)
        assert [read.count for _, _, read, _ in bus.asked[1:]] == [1] * (len(bus.asked) - 1)
        assert "refuses registers 102 of function 3 (exception 2" in str(bench.troubles)
        await bench.master.close()

    run_virtually(scenario())


def test_missing_port_is_reported_and_retried() -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s7=100)
        bus.broken = True
        bench = Bench(bus, GTIL)
        await asyncio.sleep(30.0)
        assert "/dev/ttyTEST is missing" in bench.troubles["Modbus slot 1"]
        bus.broken = False
        await asyncio.sleep(20.0)
        assert bench.sensed["m1"] == 10.0
        assert bench.troubles == {}
        await bench.master.close()

    run_virtually(scenario())


def test_answer_for_a_replaced_module_is_dropped() -> None:
    async def scenario() -> None:
        bus = SimulatedBus(s7=100)
        bus.answer_s = 0.4
        bench = Bench(bus, GTIL)
        await asyncio.sleep(0.2)
        del bus.slaves[7]
        bus.slaves[8] = 900
        bus.slaves[7] = 100
        bench.adopt(with_mapping(slots(("GTIL", 8)), (1, 1)))
        await asyncio.sleep(0.3)
        assert bench.sensed["m1"] is None
        await asyncio.sleep(1.0)
        assert bench.sensed["m1"] == 90.0
        await bench.master.close()

    run_virtually(scenario())


def test_fault_of_the_reading_callback_is_reported_and_requests_continue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        bus, sensed, faults = SimulatedBus(s7=100), dict[str, Any](), [ZeroDivisionError("oops")]

        def sense(readings: Readings) -> None:
            if faults:
                raise faults.pop()
            sensed.update(readings)

        master = ModbusMaster(bus, GTIL, sense, {}, asyncio.get_running_loop().time)
        await asyncio.sleep(10.0)
        assert sensed["m1"] == 10.0
        await master.close()
        assert bus.closed

    run_virtually(scenario())
    assert "oops" in caplog.text
