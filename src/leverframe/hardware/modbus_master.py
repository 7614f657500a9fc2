"""The Modbus master: asks the modules in slots 1-3 for their readings, all the time.

It follows the settings; the work on the bus is a `BusWorker`'s. What is read becomes the readings
m1-m30 by the mapping, and goes to the status files by slot. A reading that could not be read for a
while is absent; what a module refuses is absent at once.
"""

from collections.abc import Callable, MutableMapping

from leverframe.engine.settings import Settings, module_mapping
from leverframe.hardware.bus_worker import Bus, BusWorker
from leverframe.hardware.module_mapping import MODBUS_SLOTS, given_up, mapped_readings
from leverframe.hardware.module_slot import (
    NO_READINGS,
    ModuleSlot,
    SlotReport,
    SlotStatistics,
)
from leverframe.hardware.sensing import Sense
from leverframe.hardware.troubles import Troubles, Unusable
from leverframe.wire.modbus import Read, Write
from leverframe.wire.modbus_blocks import blocks_of
from leverframe.wire.modbus_modules import label_in_slot, module_in_slot
from leverframe.wire.modbus_rtu import Data


class ModbusMaster:
    def __init__(
        self,
        bus: Bus,
        settings: Settings,
        sense: Sense,
        troubles: MutableMapping[str, str],
        wall: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._sense = sense
        self._troubles = Troubles(troubles)
        self._slots: dict[int, ModuleSlot] = {}
        self._worker = BusWorker(bus, self._tell_slot, self._troubles, wall)
        self._rebuild()

    async def close(self) -> None:
        await self._worker.close()

    def adopt(self, old: Settings, new: Settings) -> None:
        """Follow changed settings."""
        self._settings = new
        before, after = module_mapping(old), module_mapping(new)
        self._rebuild()
        if after != before:
            self._sense(given_up(before, after, MODBUS_SLOTS))
            for number in MODBUS_SLOTS:
                self._tell(number)

    async def request(self, slot: int, request: Read | Write) -> Data:
        """Have a request made to the module in a slot (1-3) before the next poll.

        Returns what it answers, which is nothing for a write that was carried out. Raises
        `RequestRefused` where it answers with an exception, and `Unusable` where nothing comes or
        no module is in the slot; both say in a sentence what to do.
        """
        if slot not in self._slots:
            raise Unusable(f"no module is chosen for Modbus slot {slot}.")
        return await self._worker.request(self._slots[slot], request)

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
        self._slots = slots
        for slot in gone:
            self._troubles.note(slot.trouble, None)
            self._tell(slot.number)
        self._worker.set_slots(slots)

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

    def _tell_slot(self, slot: ModuleSlot) -> None:
        self._tell(slot.number)

    def _tell(self, number: int) -> None:
        """Report the readings of a slot; an empty one has none."""
        slot = self._slots.get(number)
        values = NO_READINGS if slot is None else tuple(slot.values)
        mapped = mapped_readings(module_mapping(self._settings), {number: values})
        self._sense({f"slot{number}": values, **mapped})
