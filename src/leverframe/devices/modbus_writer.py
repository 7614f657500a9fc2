"""Writes to the modules in the Modbus slots, which are verified by reading back and reported.

Writes to the same place are performed one after the other, at most one per `PACE_S`. Only the
newest waiting write is performed, so a rule that switches often cannot flood a bus or wear out a
device. If the module rejects a rule's write, the write is retried a few times; a command gets the
error after two attempts. A problem stays under `troubles` until a later write to the same place
succeeds or the slot gets another module. The journal contains every result.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress

from msgspec import Struct

from leverframe.core.engine.calls import WriteModbus
from leverframe.core.engine.journal import Fact
from leverframe.core.settings import Settings
from leverframe.devices.bus_worker import RequestRefused
from leverframe.devices.module_slot import NOT_NOW
from leverframe.devices.readings import Troubles, Unusable, describe_unexpected
from leverframe.devices.simulated.simulated_board import SimulatedBoard
from leverframe.devices.wire.modbus import ILLEGAL_FUNCTION, Read, Write
from leverframe.devices.wire.modbus_frames import Data
from leverframe.devices.wire.modbus_numbers import is_written, read_of, value_in, writes_of
from leverframe.interface.table.refusals import DeviceFailed

# The results of writes to modules for users, and the writer of a simulated board.

#: The maximum number of places whose last write is shown; the oldest are removed.
SHOWN = 32

WAITING, WRITTEN, NOT_READ_BACK, DIFFERS, FAILED = (
    *("waiting", "written", "not read back", "differs", "failed"),
)


class WriteReport(Struct, frozen=True):
    """The last write to a place."""

    slot: int
    register: int
    type: str
    value: float
    #: The rule or user that requested it.
    reason: str
    #: Seconds since 1970.
    time: float
    #: waiting, written (after a successful read-back), not read back, differs or failed.
    outcome: str
    read_back: float | None = None
    #: The problem, as a sentence.
    problem: str | None = None


class WriteReports:
    """The last write to each place, newest last."""

    __slots__ = ("_by_target", "_on_change", "_wall")

    def __init__(self, wall: Callable[[], float], on_change: Callable[[], None]) -> None:
        self._wall = wall
        self._on_change = on_change
        self._by_target: dict[str, WriteReport] = {}

    def note(
        self,
        effect: WriteModbus,
        outcome: str,
        read_back: float | None = None,
        problem: str | None = None,
    ) -> None:
        self._by_target.pop(effect.target, None)
        self._by_target[effect.target] = WriteReport(
            effect.slot,
            effect.register,
            effect.type,
            effect.value,
            effect.reason,
            self._wall(),
            outcome,
            read_back,
            problem,
        )
        if len(self._by_target) > SHOWN:
            del self._by_target[next(iter(self._by_target))]
        self._on_change()

    def report(self) -> list[WriteReport]:
        return list(self._by_target.values())


class SimulatedWriter:
    """The writer of a simulated board: its modules accept every value immediately."""

    __slots__ = ("_bench", "_reports")

    def __init__(self, bench: SimulatedBoard, reports: WriteReports) -> None:
        self._bench = bench
        self._reports = reports

    def write(self, effect: WriteModbus) -> None:
        self._bench.write_module(effect)
        self._reports.note(effect, WRITTEN, effect.value)


log = logging.getLogger(__name__)

PACE_S = 1.0
#: The pauses before each further attempt.
RULE_PAUSES_S = (2.0, 10.0, 30.0, 60.0)
ASKED_PAUSES_S = (0.5,)
#: A device needs a moment until a register returns the value that was written to it.
READ_BACK_PAUSES_S = (0.0, 0.5, 1.5)
Request = Callable[[int, Read | Write], Awaitable[Data]]


class _Wanted(Struct, eq=False):
    effect: WriteModbus
    done: asyncio.Future[None]

    def end(self, problem: str | None = None) -> None:
        """Wake the waiting caller, if there is one; a write by a rule has none."""
        if self.done.done():
            return
        if problem is not None and self.effect.is_asked:
            self.done.set_exception(DeviceFailed(f"{self.effect.target}: {problem}"))
            # The client may no longer wait, so mark the exception as retrieved.
            self.done.exception()
        else:
            self.done.set_result(None)


class _Lane(Struct, eq=False):
    """The writes to one place."""

    #: Set when a newer write to the place arrives.
    is_newer: asyncio.Event
    wanted: _Wanted | None = None
    task: asyncio.Task[None] | None = None


class ModbusWriter:
    __slots__ = ("_add_entry", "_in_trouble", "_lanes", "_reports", "_request", "_troubles")

    def __init__(
        self,
        request: Request,
        troubles: MutableMapping[str, str],
        add_entry: Callable[[str, Fact], None],
        reports: WriteReports,
    ) -> None:
        """Call `add_entry` with the reason and the result of each write."""
        self._request = request
        self._troubles = Troubles(troubles)
        self._add_entry = add_entry
        self._reports = reports
        self._lanes: dict[str, _Lane] = {}
        #: The slots of the places that have problems.
        self._in_trouble: dict[str, int] = {}

    def write(self, effect: WriteModbus) -> "asyncio.Future[None]":
        """Write a value; return a future that ends with the write.

        If a command requested the write, a failure raises `DeviceFailed`.
        """
        loop = asyncio.get_running_loop()
        order = _Wanted(effect, loop.create_future())
        lane = self._lanes.get(effect.target)
        if lane is None:
            lane = self._lanes[effect.target] = _Lane(asyncio.Event())
            lane.task = loop.create_task(self._work(effect.target, lane))
        if lane.wanted is not None:
            self._overtaken(lane.wanted)
        lane.wanted = order
        lane.is_newer.set()
        self._reports.note(effect, WAITING)
        return order.done

    def adopt(self, old: Settings, new: Settings) -> None:
        """Delete the problems of modules that were removed or replaced."""
        if old.modbus_slots is new.modbus_slots:
            return
        places = zip(old.modbus_slots, new.modbus_slots, strict=False)
        changed = {n for n, (before, after) in enumerate(places, 1) if before != after}
        for target, slot in tuple(self._in_trouble.items()):
            if slot in changed:
                self._set_trouble(target, slot, None)

    async def close(self) -> None:
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # --- the work ---------------------------------------------------------------------------------

    async def _work(self, target: str, lane: _Lane) -> None:
        """Perform the writes to a place until none is waiting."""
        order: _Wanted | None = None
        try:
            while lane.wanted is not None:
                order, lane.wanted = lane.wanted, None
                lane.is_newer.clear()
                paced = asyncio.get_running_loop().create_task(asyncio.sleep(PACE_S))
                await self._carry_out(lane, order)
                await paced
        finally:
            # Every waiting caller must get an answer, even when the process ends.
            for left in (order, lane.wanted):
                if left is not None:
                    left.end("the controller is stopping.")
            del self._lanes[target]

    async def _carry_out(self, lane: _Lane, order: _Wanted) -> None:
        pauses = ASKED_PAUSES_S if order.effect.is_asked else RULE_PAUSES_S
        for attempt, pause_s in enumerate((*pauses, None), 1):
            try:
                await self._write_and_read_back(order)
            except (Unusable, ValueError) as error:
                problem = str(error)
                is_final = isinstance(error, ValueError) or (
                    isinstance(error, RequestRefused) and error.code not in NOT_NOW
                )
            except Exception as error:
                # A bug must not leave a caller waiting forever.
                log.exception("%s could not be written", order.effect.target)
                problem, is_final = describe_unexpected(error), True
            else:
                return
            if is_final or pause_s is None:
                given_up = "" if is_final else f" Given up after {attempt} attempts."
                self._finish(order, FAILED, None, problem + given_up)
                return
            self._reports.note(order.effect, WAITING, None, problem)
            self._set_trouble(order.effect.target, order.effect.slot, f"{problem} Retrying.")
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await lane.is_newer.wait()
                    self._overtaken(order)
                    return

    async def _write_and_read_back(self, order: _Wanted) -> None:
        effect = order.effect
        first, *others = writes_of(effect)
        try:
            await self._request(effect.slot, first)
        except RequestRefused as refused:
            if refused.code != ILLEGAL_FUNCTION or not others:
                raise
            await self._request(effect.slot, others[0])
        value: float | None = None
        for pause_s in READ_BACK_PAUSES_S:
            await asyncio.sleep(pause_s)
            try:
                data = (await self._request(effect.slot, read_of(effect))).data
            except Unusable as error:
                self._finish(order, NOT_READ_BACK, None, f"written, but not read back: {error}")
                return
            value = value_in(effect, data)
            if is_written(effect, data):
                self._finish(order, WRITTEN, value, None)
                return
        shown = "no number" if value is None else f"{value:.10g}"
        problem = (
            f"{effect.value:.10g} was written, but {shown} is read back; the device may limit "
            "the value, or another program sets it."
        )
        self._finish(order, DIFFERS, value, problem)

    def _finish(
        self, order: _Wanted, outcome: str, read_back: float | None, problem: str | None
    ) -> None:
        effect = order.effect
        self._reports.note(effect, outcome, read_back, problem)
        is_trouble = outcome in (FAILED, DIFFERS)
        self._set_trouble(effect.target, effect.slot, problem if is_trouble else None)
        self._add_entry(effect.reason, _outcome(effect, problem))
        order.end(problem if is_trouble else None)

    def _overtaken(self, order: _Wanted) -> None:
        problem = "not written, because a newer value for the same register replaced it."
        self._add_entry(order.effect.reason, _outcome(order.effect, problem))
        order.end(problem)

    def _set_trouble(self, target: str, slot: int, problem: str | None) -> None:
        if problem is None:
            self._in_trouble.pop(target, None)
        else:
            self._in_trouble[target] = slot
        self._troubles.note(f"Modbus {target}", problem)


def _outcome(effect: WriteModbus, problem: str | None) -> Fact:
    """Return the result of a write for the journal."""
    figures = {"value": effect.value, "target": effect.target, "problem": problem or ""}
    return Fact("module_not_written" if problem else "module_written", figures=figures)
