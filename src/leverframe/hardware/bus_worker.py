"""The work on one bus: the modules on it are asked all the time, one request after the other.

A single request (`BusWorker.request`: a read or a write) goes before the next poll. Nothing that
happens on the bus ends the work: a module that is silent, or whose port cannot be used, is asked
less often.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from leverframe.hardware.module_slot import ModuleSlot
from leverframe.hardware.poll_plan import PollPlan, Spent, Turn, Work
from leverframe.hardware.troubles import Troubles, Unusable, describe_unexpected, os_error_text
from leverframe.shutdown import is_being_cancelled
from leverframe.wire.modbus import Read, Write
from leverframe.wire.modbus_modules import SerialParameters
from leverframe.wire.modbus_rtu import Answer, Data, ExceptionReply, NoAnswer

log = logging.getLogger(__name__)

#: How long the bus rests after a fault.
REST_S = 1.0
NO_BUS = (
    "no Modbus bus is configured; set serial_modbus in the configuration to its device, or set "
    "the address of the slot with modbushost."
)
#: More than a user or a rule requests at a time.
MAX_WAITING = 32


class Bus(Protocol):
    """A bus on which slaves are asked, one at a time."""

    #: The device file or address, for people.
    path: str
    #: Called when the bus is lost, even while no slave is polled.
    on_lost: Callable[[], None] | None

    async def ask(
        self, line: SerialParameters, slave: int, request: Read | Write
    ) -> Answer | NoAnswer:
        """Ask a slave. Raises OSError if the bus cannot be used."""

    def needs_s(self, line: SerialParameters, request: Read | Write) -> float:
        """Return how long request and answer take if the slave answers immediately."""

    async def close(self) -> None: ...


class RequestRefused(Unusable):
    """The module has answered a request with an exception."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class _OneShot(Struct, eq=False):
    """A request that a caller waits for."""

    slot: ModuleSlot
    request: Read | Write
    answer: asyncio.Future[Data]


class BusWorker:
    """One bus and the slots on it; `report_slot` gets each slot whose readings have changed."""

    def __init__(
        self,
        bus: Bus,
        report_slot: Callable[[ModuleSlot], None],
        troubles: Troubles,
        wall: Callable[[], float],
    ) -> None:
        self._bus = bus
        bus.on_lost = self._bus_lost
        self._report_slot = report_slot
        self._troubles = troubles
        self._wall = wall
        self._slots: Mapping[int, ModuleSlot] = {}
        self._plan = PollPlan({}, 0.0)
        self._waiting: deque[_OneShot] = deque()
        self._woken = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._work())

    def set_slots(self, slots: Mapping[int, ModuleSlot]) -> None:
        """Ask these modules from now on."""
        if slots.keys() == self._slots.keys() and all(
            slot is self._slots[number] for number, slot in slots.items()
        ):
            return
        self._slots = slots
        works = {n: Work(len(slot.blocks), slot.module.delay_s) for n, slot in slots.items()}
        self._plan = PollPlan(works, asyncio.get_running_loop().time())
        for one in self._waiting:
            if slots.get(one.slot.number) is not one.slot:
                _fail(
                    one,
                    Unusable("the module of the slot was changed before this request was sent."),
                )
        self._woken.set()

    async def request(self, slot: ModuleSlot, request: Read | Write) -> Data:
        """Make a request before the next poll, and return what the module answers.

        Raises `RequestRefused` for an exception, and `Unusable` where nothing comes.
        """
        if len(self._waiting) >= MAX_WAITING:
            raise Unusable(
                f"{MAX_WAITING} requests are waiting for {self._bus.path}; try again later."
            )
        one = _OneShot(slot, request, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        self._woken.set()
        return await one.answer

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        for one in self._waiting:
            _fail(one, Unusable(f"{self._bus.path} is no longer used."))
        await self._bus.close()

    # --- the work ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            try:
                await self._take_turn()
            except Exception:
                # A fault, also in the receiver of the readings, must not end the polling.
                log.exception("%s: a Modbus request failed unexpectedly", self._bus.path)
                if is_being_cancelled():
                    return
                await asyncio.sleep(REST_S)

    async def _take_turn(self) -> None:
        now = asyncio.get_running_loop().time()
        self._expire(now)
        one, wanted_at = self._first_waiting()
        turn = self._plan.next(now)
        turn_at = float("inf") if turn is None else turn.at
        if one is not None and wanted_at <= now:
            await self._serve(one)
        elif turn is not None and turn_at <= now:
            await self._poll(turn)
        else:
            await self._sleep_until(min(wanted_at, turn_at))

    def _first_waiting(self) -> tuple[_OneShot | None, float]:
        """Return the first request that a caller still waits for, and when it may be sent."""
        while self._waiting and self._waiting[0].answer.done():
            self._waiting.popleft()
        if not self._waiting:
            return None, float("inf")
        return self._waiting[0], self._plan.late_until(self._waiting[0].slot.number)

    async def _sleep_until(self, moment: float) -> None:
        """Sleep until then, until readings expire, or until something is wanted or changed."""
        ends = [end for slot in self._slots.values() for end in slot.good_until.values()]
        wake_at = min([moment, *ends])
        with suppress(TimeoutError):
            async with asyncio.timeout_at(None if wake_at == float("inf") else wake_at):
                await self._woken.wait()
        self._woken.clear()

    async def _serve(self, shot: _OneShot) -> None:
        plan, slot = self._plan, shot.slot
        try:
            answer, spent = await self._ask(slot, shot.request)
        except Exception as error:
            _fail(shot, Unusable(describe_unexpected(error)))
            raise
        if shot.answer.done():
            return
        if isinstance(answer, NoAnswer) and plan is self._plan:
            now = asyncio.get_running_loop().time()
            plan.was_silent(slot.number, spent.took_s, now)
        if isinstance(answer, Data):
            shot.answer.set_result(answer)
        elif isinstance(answer, ExceptionReply):
            _fail(shot, RequestRefused(answer.code, slot.refusal_of(shot.request, answer.code)))
        else:
            _fail(shot, Unusable(answer if isinstance(answer, str) else slot.silence(answer)))

    async def _poll(self, turn: Turn) -> None:
        loop = asyncio.get_running_loop()
        plan, slot = self._plan, self._slots[turn.slave]
        block = slot.blocks[turn.request]
        plan.note_request(turn, loop.time())
        slot.note_asked(block, loop.time())
        answer, spent = await self._ask(slot, block.read)
        now = loop.time()
        if plan is not self._plan:
            # The slots have changed since; the answer belongs to none of them.
            return
        if isinstance(answer, str | NoAnswer):
            plan.was_silent(turn.slave, spent.took_s, now)
            slot.note_silence(block, answer, self._wall())
            self._troubles.note(slot.trouble, slot.problem())
            return
        if isinstance(answer, Data):
            plan.note_answer(turn, spent, now)
        else:
            plan.was_refused(turn, spent, now)
        parts = slot.take(block, answer, now)
        if parts:
            plan.split(turn, parts, now)
        self._troubles.note(slot.trouble, slot.problem())
        self._report_slot(slot)

    async def _ask(
        self, slot: ModuleSlot, request: Read | Write
    ) -> tuple[Answer | NoAnswer | str, Spent]:
        """Return the answer, or why the bus cannot be used; and the time that was spent."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer: Answer | NoAnswer | str
        try:
            answer = await self._bus.ask(slot.module.line, slot.slave, request)
        except OSError as error:
            await self._bus.close()
            answer = os_error_text(error, self._bus.path)
        took_s = loop.time() - began
        if not isinstance(answer, str):
            slot.counters.count(answer, took_s)
        return answer, Spent(took_s, self._bus.needs_s(slot.module.line, request))

    def _bus_lost(self) -> None:
        """Report it immediately: the next turn may be far, and readings stay valid for a while."""
        for slot in self._slots.values():
            slot.bus_problem = f"{self._bus.path} was lost; it is reopened when it is back."
            self._troubles.note(slot.trouble, slot.problem())

    def _expire(self, now: float) -> None:
        for slot in self._slots.values():
            if slot.expire(now):
                # Where readings are shown as absent, the reason is shown, too.
                self._troubles.note(slot.trouble, slot.problem())
                self._report_slot(slot)


def _fail(shot: _OneShot, error: Unusable) -> None:
    if not shot.answer.done():
        shot.answer.set_exception(error)
