"""The worker of one bus: it polls the modules continuously, one request after the other.

A single request (`BusWorker.request`: a read or a write) is sent before the next poll. No failure
on the bus ends the polling. A module that does not answer, or whose port cannot be used, is polled
less often.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.runtime.event_loop import is_being_cancelled
from leverframe.devices.module_slot import ModuleSlot
from leverframe.devices.readings import Troubles, Unusable, describe_unexpected, os_error_text
from leverframe.devices.wire.modbus import Read, Write
from leverframe.devices.wire.modbus_frames import Answer, Data, ExceptionReply, NoAnswer
from leverframe.devices.wire.modbus_modules import SerialParameters

# The scheduling of several slaves on one bus, independent of the clock.
#
# Each request of a slave is sent once per period; between two requests there is a pause that
# depends on the slave. If the bus is too slow for all slaves, they share its time by weight and not
# in turns. The line is idle while a slave prepares its answer. Therefore a slave that is much
# slower than the fastest slave gets less time, but never less than a small share.
#
# Lost time is charged to the slave that causes it. A request that the slave rejects is repeated so
# rarely that it uses less than `LOST_SHARE` of the bus; the slave's other requests continue. A
# slave that does not answer and has used up its credit is polled so rarely that it wastes less than
# the same share, even if it answers from time to time. After a missing answer, the slave gets no
# request for `LATE_S`, so that a late answer cannot be mistaken for the answer to another request.

#: The period in seconds in which each request of a slave is sent once, if the bus is fast enough.
PERIOD_S = 1.0
#: The largest share of the bus's time that one slave may waste by missing answers, and by
#: rejections.
LOST_SHARE = 0.05
#: The time that a slave may waste before that limit applies, so that one or two lost frames cause
#: no wait.
CREDIT_S = 1.0
LATE_S = 2.0
#: The smallest share of a slow slave, even if other slaves could use all of the time.
MIN_SHARE = 0.05
#: A slave is not slow if it needs at most this multiple of the fastest slave's time. The share of a
#: slower slave falls with the power `_POWER`, so that it hardly delays the others.
ALIKE = 1.5
_POWER = 4
#: The weight of the latest request in the average efficiency of a slave. A fast answer has more
#: weight than a slow one, because this machine may have caused the delay.
_BETTER, _WORSE = 0.5, 0.1


class Work(Struct, frozen=True):
    """The number of requests to a slave, and the pause between two of them."""

    requests: int
    delay_s: float = 0.0


class Turn(Struct, frozen=True):
    slave: int
    request: int
    #: The earliest moment for the request.
    at: float


class Spent(Struct, frozen=True):
    """The duration of a request, and the time that its bytes need on the line."""

    took_s: float
    line_s: float


class _Request(Struct):
    due_at: float
    is_refused: bool = False


class _Slave(Struct):
    delay_s: float
    requests: list[_Request]
    ready_at: float
    credited_at: float
    #: The time of the earliest next request; until then, a late answer may still arrive.
    late_until: float = float("-inf")
    #: The time before which rejected requests are not repeated.
    retry_at: float = float("-inf")
    asked_at: float = float("-inf")
    credit_s: float = CREDIT_S
    efficiency: float | None = None
    #: The slave's position on the clock by which the slaves share time.
    share_clock: float = 0.0

    def upcoming(self) -> tuple[int, float]:
        """Return the next request and its earliest moment."""
        moments = [
            max(one.due_at, self.retry_at) if one.is_refused else one.due_at
            for one in self.requests
        ]
        request = min(range(len(moments)), key=moments.__getitem__)
        return request, max(moments[request], self._may_be_asked_at())

    def _may_be_asked_at(self) -> float:
        moment = max(self.ready_at, self.late_until)
        if self.credit_s >= 0:
            return moment
        return max(moment, self.credited_at - self.credit_s / LOST_SHARE)

    def charge(self, lost_s: float, now: float) -> None:
        earned_s = (now - self.credited_at) * LOST_SHARE
        self.credit_s = min(CREDIT_S, self.credit_s + earned_s) - lost_s
        self.credited_at = now

    def learn(self, spent: Spent) -> None:
        """Update the share of the slave's time in which the line was busy."""
        latest = min(1.0, spent.line_s / spent.took_s) if spent.took_s > 0 else 1.0
        if self.efficiency is None:
            self.efficiency = latest
        else:
            weight = _BETTER if latest > self.efficiency else _WORSE
            self.efficiency += weight * (latest - self.efficiency)


class PollPlan:
    def __init__(self, slaves: Mapping[int, Work], now: float) -> None:
        self._slaves = {
            slave: _Slave(work.delay_s, _requests(work.requests, now), now, now)
            for slave, work in slaves.items()
            if work.requests
        }
        self._share_clock = 0.0

    def next(self, now: float) -> Turn | None:
        """Return the next request: that of the due slave that is furthest behind its share."""
        turns = [Turn(slave, *state.upcoming()) for slave, state in self._slaves.items()]
        due = [turn for turn in turns if turn.at <= now]
        if due:
            return replace(min(due, key=self._precedence), at=now)
        return min(turns, key=lambda turn: turn.at) if turns else None

    def note_request(self, turn: Turn, now: float) -> None:
        """Record that a request was sent."""
        state = self._slaves[turn.slave]
        state.asked_at = now
        # A slave that was idle for a while must not catch up on the time of that pause.
        self._share_clock = state.share_clock = max(state.share_clock, self._share_clock)
        request = state.requests[turn.request]
        request.due_at = max(request.due_at + PERIOD_S, now)

    def note_answer(self, turn: Turn, spent: Spent, now: float) -> None:
        state = self._slaves[turn.slave]
        state.requests[turn.request].is_refused = False
        state.learn(spent)
        state.share_clock += spent.took_s / self._share_of(state)
        state.ready_at = now + state.delay_s

    def was_refused(self, turn: Turn, spent: Spent, now: float) -> None:
        self.note_answer(turn, spent, now)
        state = self._slaves[turn.slave]
        state.requests[turn.request].is_refused = True
        state.retry_at = now + spent.took_s / LOST_SHARE

    def was_silent(self, slave: int, lost_s: float, now: float) -> None:
        """Record a missing answer, and how long the bus waited for it."""
        if slave not in self._slaves:
            return
        state = self._slaves[slave]
        state.ready_at = now + state.delay_s
        state.late_until = now + LATE_S
        state.charge(lost_s, now)

    def late_until(self, slave: int) -> float:
        """Return the time until which an earlier request may still be answered."""
        return self._slaves[slave].late_until if slave in self._slaves else float("-inf")

    def split(self, turn: Turn, parts: int, now: float) -> None:
        """Replace one request by several."""
        requests = self._slaves[turn.slave].requests
        requests[turn.request : turn.request + 1] = _requests(parts, now)

    def _precedence(self, turn: Turn) -> tuple[float, float]:
        state = self._slaves[turn.slave]
        return max(state.share_clock, self._share_clock), state.asked_at

    def _share_of(self, state: _Slave) -> float:
        known = {id(one): one.efficiency for one in self._slaves.values()}
        best = max((each for each in known.values() if each is not None), default=1.0)
        weights = {
            one: 1.0 if each is None else min(1.0, ALIKE * each / best) ** _POWER
            for one, each in known.items()
        }
        return max(MIN_SHARE, weights[id(state)] / sum(weights.values()))


def _requests(count: int, now: float) -> list[_Request]:
    return [_Request(now) for _ in range(count)]


log = logging.getLogger(__name__)

#: How many seconds the bus pauses after a failure.
REST_S = 1.0
NO_BUS = (
    "no Modbus bus is configured; set serial_modbus in the configuration to the device of the"
    " bus, or set "
    "the address of the slot with modbushost."
)
#: The maximum number of waiting requests; users and rules need fewer.
MAX_WAITING = 32


class Bus(Protocol):
    """A bus that sends requests to slaves, one at a time."""

    #: The device file or address, for users.
    path: str
    #: A function that is called when the bus fails, even while no slave is polled.
    on_lost: Callable[[], None] | None

    async def ask(
        self, line: SerialParameters, slave: int, request: Read | Write
    ) -> Answer | NoAnswer:
        """Send a request to a slave and return its answer; raise OSError if the bus fails."""

    def needs_s(self, line: SerialParameters, request: Read | Write) -> float:
        """Return how long request and answer take if the slave answers immediately."""

    async def close(self) -> None: ...


class RequestRefused(Unusable):
    """The module has answered with an exception."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class _OneShot(Struct, eq=False):
    """A request that a caller waits for."""

    slot: ModuleSlot
    request: Read | Write
    answer: asyncio.Future[Data]


class BusWorker:
    """The worker of one bus; it calls `report_slot` for each slot with new readings."""

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
        """Replace the modules to be polled."""
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
        """Send a request before the next poll, and return the module's answer.

        Raise `RequestRefused` if the answer is an exception, and `Unusable` if there is no answer.
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
                # A failure, even in the receiver of the readings, must not end the polling.
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
        """Return the first request with a waiting caller, and the earliest time to send it."""
        while self._waiting and self._waiting[0].answer.done():
            self._waiting.popleft()
        if not self._waiting:
            return None, float("inf")
        return self._waiting[0], self._plan.late_until(self._waiting[0].slot.number)

    async def _sleep_until(self, moment: float) -> None:
        """Sleep until `moment`, until readings expire, or until a request or a change arrives."""
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
            # The slots have changed in the meantime; the answer belongs to none of them.
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
        """Return the answer or the reason why the bus cannot be used, and the time spent."""
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
        """Report the loss immediately, because the next poll may be much later."""
        for slot in self._slots.values():
            slot.bus_problem = (
                f"The device {self._bus.path} disappeared; it is reopened when it returns."
            )
            self._troubles.note(slot.trouble, slot.problem())

    def _expire(self, now: float) -> None:
        for slot in self._slots.values():
            if slot.expire(now):
                # When readings become absent, also update the problem that users see.
                self._troubles.note(slot.trouble, slot.problem())
                self._report_slot(slot)


def _fail(shot: _OneShot, error: Unusable) -> None:
    if not shot.answer.done():
        shot.answer.set_exception(error)
