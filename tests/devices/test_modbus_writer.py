"""Writing to modules: attempts, read-back, pace and reports; in virtual time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from leverframe.core.engine.calls import WriteModbus
from leverframe.core.profile import Profile
from leverframe.core.settings import ModbusSlot
from leverframe.core.tree import defaults
from leverframe.devices.bus_worker import RequestRefused
from leverframe.devices.modbus_writer import (
    ASKED_PAUSES_S,
    PACE_S,
    RULE_PAUSES_S,
    SHOWN,
    ModbusWriter,
    WriteReports,
)
from leverframe.devices.readings import Unusable
from leverframe.devices.wire.modbus import Read, Write
from leverframe.devices.wire.modbus_frames import Data
from leverframe.interface.table.refusals import DeviceFailed

from .virtual_loop import run_virtually

SILENT = Unusable("the heat pump does not answer; check its wiring.")
PLACE = "Modbus slot 1 register 100"


def refusal_of(code: int) -> RequestRefused:
    return RequestRefused(code, f"the heat pump refuses to be written: exception {code}.")


class Module:
    """A module with holding registers, which may misbehave a few times first."""

    def __init__(self) -> None:
        self.registers: dict[int, int] = {}
        self.requests: list[tuple[float, Read | Write]] = []
        #: What the next requests end with.
        self.faults: deque[Exception] = deque()
        #: Functions that it does not know.
        self.unknown: set[int] = set()
        self.read_fault: Exception | None = None
        self.limit = 0xFFFF
        #: How long a register shows what was there before.
        self.settles_s = 0.0

    async def request(self, slot: int, request: Read | Write) -> Data:
        now = asyncio.get_running_loop().time()
        self.requests.append((now, request))
        await asyncio.sleep(0.01)
        if request.function in self.unknown:
            raise refusal_of(1)
        if self.faults:
            raise self.faults.popleft()
        if isinstance(request, Write):
            for offset, word in enumerate(request.values):
                place, value = request.address + offset, min(word, self.limit)
                asyncio.get_running_loop().call_later(
                    self.settles_s, self.registers.__setitem__, place, value
                )
            return Data(b"")
        if self.read_fault is not None:
            raise self.read_fault
        words = [self.registers.get(request.address + n, 0) for n in range(request.count)]
        return Data(b"".join(word.to_bytes(2, "big") for word in words))

    @property
    def writes(self) -> list[tuple[int, ...]]:
        return [request.values for _, request in self.requests if isinstance(request, Write)]


class Desk:
    """A writer with a module, and its reports."""

    def __init__(self) -> None:
        self.module = Module()
        self.troubles: dict[str, str] = {}
        self.entries: list[tuple[str, str]] = []
        self.changes = 0
        self.reports = WriteReports(lambda: 1000.0, self.count_change)
        self.writer = ModbusWriter(
            self.module.request,
            self.troubles,
            lambda reason, fact: self.entries.append((reason, str(fact))),
            self.reports,
        )

    def count_change(self) -> None:
        self.changes += 1

    def write(
        self, value: float, *, is_asked: bool = False, **fields: object
    ) -> "asyncio.Future[None]":
        effect = WriteModbus(1, 100, "uint16", "none", value, "rule 3", is_asked=is_asked)
        return self.writer.write(replace(effect, **fields))

    @property
    def outcome(self) -> tuple[str, float | None]:
        (report,) = self.reports.report()
        return report.outcome, report.read_back


def at_a_desk(scenario: Callable[[Desk], Awaitable[None]]) -> None:
    async def run() -> None:
        desk = Desk()
        await scenario(desk)
        await desk.writer.close()

    run_virtually(run())


def test_value_is_written_read_back_and_reported_with_its_requester() -> None:
    async def scenario(desk: Desk) -> None:
        waiting = desk.write(215)
        assert desk.outcome == ("waiting", None)
        await waiting
        assert desk.module.registers == {100: 215}
        assert desk.outcome == ("written", 215.0)
        assert desk.changes == 2
        assert desk.entries == [("rule 3", "215 to slot 1 register 100: written and read back")]
        assert desk.troubles == {}

    at_a_desk(scenario)


def test_module_that_knows_only_the_other_function_gets_that() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.unknown = {6}
        await desk.write(7, is_asked=True)
        assert [request.function for _, request in desk.module.requests] == [6, 16, 3]

    at_a_desk(scenario)


def test_register_that_needs_a_moment_is_read_again() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.settles_s = 0.3
        await desk.write(7, is_asked=True)
        assert desk.outcome == ("written", 7.0)
        assert len(desk.module.writes) == 1

    at_a_desk(scenario)


def test_difference_is_a_problem_until_a_later_write_succeeds() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.limit = 30
        with pytest.raises(DeviceFailed, match="45 was written, but 30 is read back"):
            await desk.write(45, is_asked=True)
        assert desk.outcome == ("differs", 30.0)
        assert "45 was written, but 30 is read back" in desk.troubles[PLACE]
        await desk.write(25, is_asked=True)
        assert desk.troubles == {}

    at_a_desk(scenario)


def test_unreadable_register_counts_as_written_and_is_reported() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.read_fault = refusal_of(2)
        await desk.write(7, is_asked=True)
        assert desk.outcome == ("not read back", None)
        assert "not read back: the heat pump refuses" in desk.entries[-1][1]
        assert desk.troubles == {}

    at_a_desk(scenario)


def test_write_of_a_rule_to_a_silent_module_is_retried_and_reported() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([SILENT, SILENT])
        writing = desk.write(215)
        await asyncio.sleep(1.0)
        assert desk.troubles == {PLACE: f"{SILENT} Retrying."}
        assert desk.reports.report()[0].problem == str(SILENT)
        await writing
        assert desk.module.registers == {100: 215}
        assert desk.troubles == {}

    at_a_desk(scenario)


def test_silent_module_fails_after_a_few_attempts_and_stays_a_trouble() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([SILENT] * 100)
        await desk.write(215)
        attempts = 1 + len(RULE_PAUSES_S)
        assert len(desk.module.requests) == attempts
        assert desk.outcome == ("failed", None)
        assert desk.troubles[PLACE].endswith(f"Given up after {attempts} attempts.")
        assert desk.entries[-1][1].startswith("215 to slot 1 register 100: the heat pump does not")
        await asyncio.sleep(1000.0)
        assert len(desk.module.requests) == attempts

    at_a_desk(scenario)


def test_requested_write_is_answered_soon() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([SILENT] * 100)
        with pytest.raises(
            DeviceFailed, match="slot 1 register 100: the heat pump does not answer"
        ):
            await desk.write(215, is_asked=True)
        assert len(desk.module.requests) == 1 + len(ASKED_PAUSES_S)

    at_a_desk(scenario)


@pytest.mark.parametrize("code", [2, 3, 4])
def test_module_that_refuses_is_not_asked_again(code: int) -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([refusal_of(code)])
        await desk.write(215)
        assert len(desk.module.writes) == 1
        assert desk.troubles == {PLACE: str(refusal_of(code))}

    at_a_desk(scenario)


@pytest.mark.parametrize("code", [5, 6])
def test_module_that_is_busy_is_asked_again(code: int) -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([refusal_of(code)])
        await desk.write(215)
        assert len(desk.module.writes) == 2
        assert desk.troubles == {}

    at_a_desk(scenario)


def test_rule_that_flutters_writes_once_a_second_and_the_newest_value() -> None:
    async def scenario(desk: Desk) -> None:
        for number in range(100):
            last = desk.write(number)
            await asyncio.sleep(0.05)
        await last
        assert len(desk.module.writes) <= 100 * 0.05 / PACE_S + 2
        assert desk.module.registers == {100: 99}
        assert len(desk.entries) == 100

    at_a_desk(scenario)


def test_newer_value_ends_the_attempts_for_an_older_one() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([SILENT])
        older = desk.write(1)
        await asyncio.sleep(0.5)
        began = asyncio.get_running_loop().time()
        await desk.write(2)
        await older
        assert asyncio.get_running_loop().time() - began <= PACE_S
        assert desk.module.registers == {100: 2}
        assert "a newer value for the same register replaced it" in desk.entries[0][1]

    at_a_desk(scenario)


def test_overtaken_write_is_reported_to_its_requester() -> None:
    async def scenario(desk: Desk) -> None:
        first, second, third = (desk.write(value, is_asked=True) for value in (1, 2, 3))
        with pytest.raises(DeviceFailed, match="a newer value"):
            await first
        with pytest.raises(DeviceFailed, match="a newer value"):
            await second
        await third
        assert desk.module.writes == [(3,)]

    at_a_desk(scenario)


def test_places_do_not_wait_for_each_other() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([SILENT])
        desk.write(1)
        await asyncio.sleep(0.1)
        await desk.write(2, register=101)
        assert desk.module.registers == {101: 2}
        assert asyncio.get_running_loop().time() < 1.0

    at_a_desk(scenario)


def test_another_module_in_the_slot_takes_its_troubles_along() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([refusal_of(2)])
        await desk.write(1)
        old = defaults(Profile())
        slots = (old.modbus_slots[0], ModbusSlot("GTIL", 5), old.modbus_slots[2])
        desk.writer.adopt(old, old)
        desk.writer.adopt(old, replace(old, modbus_slots=slots))
        assert PLACE in desk.troubles
        slots = (ModbusSlot("GTIL", 5), *old.modbus_slots[1:])
        desk.writer.adopt(old, replace(old, modbus_slots=slots))
        assert desk.troubles == {}

    at_a_desk(scenario)


def test_unfit_value_and_fault_are_reported_and_not_retried() -> None:
    async def scenario(desk: Desk) -> None:
        with pytest.raises(DeviceFailed, match="70000 does not fit into uint16"):
            await desk.write(70000, is_asked=True)
        desk.module.faults = deque([RuntimeError("a bug")])
        with pytest.raises(DeviceFailed, match="failed unexpectedly"):
            await desk.write(7, is_asked=True)
        assert len(desk.module.requests) == 1

    at_a_desk(scenario)


def test_end_of_the_controller_answers_who_waits() -> None:
    async def scenario(desk: Desk) -> None:
        desk.module.faults = deque([SILENT] * 100)
        running, overtaking = desk.write(1, is_asked=True), desk.write(1, is_asked=True, register=5)
        await asyncio.sleep(0.1)
        await desk.writer.close()
        for waiting in (running, overtaking):
            with pytest.raises(DeviceFailed, match="the controller is stopping"):
                await waiting

    at_a_desk(scenario)


def test_newest_places_are_shown() -> None:
    async def scenario(desk: Desk) -> None:
        for register in range(SHOWN + 5):
            await desk.write(1, register=register)
        assert [one.register for one in desk.reports.report()] == list(range(5, SHOWN + 5))

    at_a_desk(scenario)
