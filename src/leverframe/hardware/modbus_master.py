"""The Modbus RTU master: asks the modules in slots 1-3 for their readings, all the time.

One task works on the bus and follows the settings by itself. What it reads becomes the readings
m1-m30 by the mapping, and goes to the status files by slot. A reading that could not be read for a
while is absent; what a module refuses is absent at once. Nothing that happens on the bus ends the
work: a module that is silent, or whose port cannot be used, is asked less often.
"""

import asyncio
import logging
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Protocol

from leverframe.engine.settings import Settings, module_mapping
from leverframe.hardware.module_mapping import MODBUS_SLOTS, given_up, mapped_readings
from leverframe.hardware.module_slot import NO_READINGS, ModuleSlot, SlotReport, SlotStatistics
from leverframe.hardware.poll_plan import PollPlan, Turn, Work
from leverframe.hardware.sensing import Sense
from leverframe.hardware.troubles import Troubles, told
from leverframe.shutdown import is_being_cancelled
from leverframe.wire.modbus import Read
from leverframe.wire.modbus_blocks import Block, blocks_of
from leverframe.wire.modbus_modules import SerialParameters, label_in_slot, module_in_slot
from leverframe.wire.modbus_rtu import Answer, NoAnswer

log = logging.getLogger(__name__)

#: How long the bus rests after a fault.
REST_S = 1.0


class Bus(Protocol):
    """A bus on which slaves are asked, one at a time."""

    #: The device file, for people.
    path: str
    #: Called when the bus is lost, also while nobody is asked.
    on_lost: Callable[[], None] | None

    async def ask(self, line: SerialParameters, slave: int, read: Read) -> Answer | NoAnswer:
        """Ask a slave. Raises OSError if the bus cannot be used."""

    async def close(self) -> None: ...


class ModbusMaster:
    def __init__(
        self,
        bus: Bus,
        settings: Settings,
        sense: Sense,
        troubles: MutableMapping[str, str],
        wall: Callable[[], float],
    ) -> None:
        self._bus = bus
        bus.on_lost = self._bus_lost
        self._settings = settings
        self._sense = sense
        self._troubles = Troubles(troubles)
        self._wall = wall
        self._slots: dict[int, ModuleSlot] = {}
        self._plan = PollPlan({}, 0.0)
        self._changed = asyncio.Event()
        self._rebuild()
        self._task = asyncio.get_running_loop().create_task(self._work())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        await self._bus.close()

    def adopt(self, old: Settings, new: Settings) -> None:
        """Follow changed settings."""
        self._settings = new
        before, after = module_mapping(old), module_mapping(new)
        self._rebuild()
        if after != before:
            self._sense(given_up(before, after, MODBUS_SLOTS))
            for number in MODBUS_SLOTS:
                self._tell(number)

    def report(self) -> dict[str, SlotReport]:
        """Describe the modules by the number of their slot."""
        return {
            str(slot.number): SlotReport(
                slot.label,
                slot.slave,
                slot.silent_since,
                {
                    reading.name or str(reading.number): slot.values[reading.number]
                    for reading in slot.module.readings
                },
                slot.refused(),
            )
            for slot in self._slots.values()
        }

    def statistics(self) -> dict[str, SlotStatistics]:
        """Count what came of the requests, by the number of the slot."""
        return {str(slot.number): slot.counters.shown() for slot in self._slots.values()}

    # --- following the settings -------------------------------------------------------------------

    def _rebuild(self) -> None:
        """Rebuild the slots from the settings; an unchanged module keeps its readings."""
        wanted = {
            number: self._slot(number)
            for number in MODBUS_SLOTS[: len(self._settings.modbus_slots)]
        }
        slots = {number: slot for number, slot in wanted.items() if slot is not None}
        gone = [slot for n, slot in self._slots.items() if slots.get(n) is not slot]
        if not gone and slots.keys() == self._slots.keys():
            return
        self._slots = slots
        for slot in gone:
            self._forget(slot)
        now = asyncio.get_running_loop().time()
        works = {n: Work(len(slot.blocks), slot.module.delay_s) for n, slot in slots.items()}
        self._plan = PollPlan(works, now)
        self._changed.set()

    def _slot(self, number: int) -> ModuleSlot | None:
        module = module_in_slot(self._settings, number)
        if module is None:
            return None
        setting = self._settings.modbus_slots[number - 1]
        present = self._slots.get(number)
        if present and (present.slave, present.module) == (setting.slave_id, module):
            return present
        label = label_in_slot(self._settings, number)
        return ModuleSlot(number, label, setting.slave_id, module, blocks_of(module))

    def _forget(self, slot: ModuleSlot) -> None:
        self._troubles.note(_trouble(slot), None)
        self._tell(slot.number)

    def _tell(self, number: int) -> None:
        """Report the readings of a slot; an empty one has none."""
        slot = self._slots.get(number)
        values = NO_READINGS if slot is None else tuple(slot.values)
        mapped = mapped_readings(module_mapping(self._settings), {number: values})
        self._sense({f"slot{number}": values, **mapped})

    # --- the work ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            try:
                await self._take_turn()
            except Exception:
                # A fault, also in the receiver of the readings, must not end the polling.
                log.exception("%s: a turn ended unexpectedly", self._bus.path)
                if is_being_cancelled():
                    return
                await asyncio.sleep(REST_S)

    async def _take_turn(self) -> None:
        loop = asyncio.get_running_loop()
        self._expire(loop.time())
        turn = self._plan.next(loop.time())
        if turn is None:
            await self._changed.wait()
            self._changed.clear()
        elif turn.at > loop.time():
            await self._sleep_until(turn.at)
        else:
            await self._ask(turn)

    async def _sleep_until(self, moment: float) -> None:
        """Sleep, but expire old readings meanwhile, and wake when the settings change."""
        loop = asyncio.get_running_loop()
        while (now := loop.time()) < moment:
            self._expire(now)
            ends = [end for slot in self._slots.values() for end in slot.good_until.values()]
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min([moment, *ends])):
                    await self._changed.wait()
                    self._changed.clear()
                    return

    async def _ask(self, turn: Turn) -> None:
        loop = asyncio.get_running_loop()
        plan, slot = self._plan, self._slots[turn.slave]
        block = slot.blocks[turn.request]
        began = loop.time()
        plan.asked(turn.slave, began)
        slot.asked.add(block.read)
        answer = await self._answer_of(slot, block.read)
        now = loop.time()
        if plan is not self._plan:
            # The slots have changed meanwhile; the answer belongs to none of them.
            return
        if isinstance(answer, str | NoAnswer):
            plan.was_silent(turn.slave, now - began, now)
        else:
            plan.answered(turn.slave, now)
        if not isinstance(answer, str):
            slot.counters.count(answer, now - began)
        self._take(slot, block, answer, now)

    async def _answer_of(self, slot: ModuleSlot, read: Read) -> Answer | NoAnswer | str:
        """Return the answer, or why the bus cannot be used."""
        try:
            return await self._bus.ask(slot.module.line, slot.slave, read)
        except OSError as error:
            await self._bus.close()
            return told(error, self._bus.path)

    def _take(
        self, slot: ModuleSlot, block: Block, answer: Answer | NoAnswer | str, now: float
    ) -> None:
        if isinstance(answer, str | NoAnswer):
            if slot.silent_since is None:
                slot.silent_since = self._wall()
            if isinstance(answer, str) or not slot.good_until:
                text = answer if isinstance(answer, str) else _silence(slot, answer)
                self._troubles.note(_trouble(slot), text)
        else:
            slot.take(block, answer, now)
            slot.silent_since = None
            self._troubles.note(_trouble(slot), slot.refusal())
            self._tell(slot.number)

    def _bus_lost(self) -> None:
        """Tell it at once: the next turn may be far, and readings are good for a while."""
        for slot in self._slots.values():
            text = f"{self._bus.path} was lost; it is opened again when it is back."
            self._troubles.note(_trouble(slot), text)

    def _expire(self, now: float) -> None:
        for slot in self._slots.values():
            if slot.expire(now):
                self._tell(slot.number)


def _trouble(slot: ModuleSlot) -> str:
    return f"Modbus slot {slot.number}"


def _silence(slot: ModuleSlot, answer: NoAnswer) -> str:
    who, line = f"{slot.label} with slave ID {slot.slave}", _in_words(slot.module.line)
    if answer.is_damaged:
        return (
            f"what {who} answers arrives damaged; check that it speaks {line}, the wires' ends and"
            " that no other device has its slave ID."
        )
    return f"{who} does not answer; check its wiring, its slave ID and that it speaks {line}."


def _in_words(line: SerialParameters) -> str:
    bits = "stop bit" if line.stop_bits == 1 else "stop bits"
    return f"{line.bitrate} bit/s, parity {line.parity}, {line.stop_bits} {bits}"
