"""The Modbus master: polls the modules in slots 1-3 continuously.

The settings determine the modules. One `BusWorker` polls the serial bus, and each Modbus TCP device
or gateway has another one. The mapping assigns the readings of slots to m1-m30; the status files
also show them by slot. A reading that could not be refreshed for a while becomes absent; a reading
that a module rejects is absent immediately.
"""

import asyncio
from collections.abc import Callable, Coroutine, MutableMapping
from functools import partial
from operator import attrgetter
from typing import Any

from leverframe.core.runtime.outgoing import STRICT
from leverframe.core.settings import Settings, module_mapping
from leverframe.devices.bus_worker import NO_BUS, Bus, BusWorker
from leverframe.devices.modbus_lines import TcpLine
from leverframe.devices.module_slot import (
    MODBUS_SLOTS,
    NO_READINGS,
    ModuleSlot,
    SlotReport,
    SlotStatistics,
    find_freed_labels,
    map_readings,
)
from leverframe.devices.module_trial import ModuleTrial, find_slot, try_slot
from leverframe.devices.readings import Sense, Troubles, Unusable
from leverframe.devices.wire.modbus import Read, Write
from leverframe.devices.wire.modbus_frames import Data
from leverframe.devices.wire.modbus_modules import blocks_of, label_in_slot, module_in_slot

#: The settings that define the modules; unchanged branches of two trees are the same objects.
_of_modules = attrgetter("modbus_slots", "modbus_devices", "modbus_mapping", "serial")

#: Creates the line to the host of a slot; by default, the host must be another machine.
STRICT_LINE = partial(TcpLine, STRICT)
#: The key of the serial bus, for slots without a host.
SERIAL = ""


class ModbusMaster:
    """The master of the serial bus, if there is one, and of the hosts in the settings of slots."""

    __slots__ = (
        "_connect",
        "_ending",
        "_has_power",
        "_sense",
        "_settings",
        "_slots",
        "_troubles",
        "_trying",
        "_wall",
        "_workers",
    )

    def __init__(
        self,
        bus: Bus | None,
        settings: Settings,
        sense: Sense,
        troubles: MutableMapping[str, str],
        wall: Callable[[], float],
        connect: Callable[[str], Bus] = STRICT_LINE,
    ) -> None:
        self._settings = settings
        self._sense = sense
        self._troubles = Troubles(troubles)
        self._slots: dict[int, ModuleSlot] = {}
        self._has_power = True
        self._trying = asyncio.Lock()
        self._wall = wall
        self._connect = connect
        self._workers: dict[str, BusWorker] = {}
        if bus is not None:
            self._workers[SERIAL] = self._worker(bus)
        self._ending: set[asyncio.Task[None]] = set()
        self._rebuild()

    async def close(self) -> None:
        await asyncio.gather(*(worker.close() for worker in self._workers.values()), *self._ending)

    def adopt(self, old: Settings, new: Settings) -> None:
        """Apply changed settings."""
        self._settings = new
        if _of_modules(old) == _of_modules(new):
            return
        before, after = module_mapping(old), module_mapping(new)
        self._rebuild()
        if after != before:
            # Modules that are not polled may be simulated, so their readings are not cleared.
            numbers = [number for number in MODBUS_SLOTS if self.has_bus_of(number)]
            self._sense(find_freed_labels(before, after, numbers))
            for number in numbers:
                self._report(number)

    def set_power(self, on: bool) -> None:
        """Stop polling while the power is off."""
        self._has_power = on
        self._share_out(self._slots)

    async def request(self, slot: int, request: Read | Write) -> Data:
        """Send a request to the module in a slot (1-3) before the next poll.

        Return the data of its answer, which is empty after a successful write. Raise
        `RequestRefused` if the module answers with an exception, and `Unusable` if it does not
        answer or the slot has no module. Both messages say what to do.
        """
        if not self._has_power:
            raise Unusable("the controller has no power.")
        if slot not in self._slots:
            if not self.has_bus_of(slot):
                raise Unusable(NO_BUS)
            raise Unusable(f"no module is chosen for Modbus slot {slot}.")
        worker = self._workers[self._slots[slot].host]
        return await worker.request(self._slots[slot], request)

    def try_slot(self, settings: Settings, number: int) -> Coroutine[Any, Any, ModuleTrial] | None:
        """Read the module that these settings choose for a slot (1-3) once, without adopting them.

        Return None if the slot is on the serial bus, but this board has no serial bus.
        """
        host = settings.modbus_slots[number - 1].host
        if host == SERIAL and SERIAL not in self._workers:
            return None
        return self._try_slot(settings, number)

    async def _try_slot(self, settings: Settings, number: int) -> ModuleTrial:
        # One at a time, so that trials cannot occupy the bus.
        async with self._trying:
            if not self._has_power:
                return ModuleTrial([], "the controller has no power.")
            try:
                slot = find_slot(settings, number)
            except Unusable as error:
                return ModuleTrial([], str(error))
            worker = self._workers.get(slot.host)
            if worker is not None:
                return await try_slot(slot, worker.request)
            worker = self._worker(self._connect(slot.host))
            try:
                return await try_slot(slot, worker.request)
            finally:
                await worker.close()

    def has_bus_of(self, slot: int) -> bool:
        """Return whether a slot (1-3) is on a real bus; otherwise its module may be simulated."""
        return SERIAL in self._workers or slot in self._slots

    def report(self) -> dict[str, SlotReport]:
        """Describe the modules by slot number."""
        return {
            str(slot.number): SlotReport(
                slot.label,
                slot.slave,
                slot.silent_since,
                {
                    reading.name or str(reading.number): slot.values[reading.number]
                    for reading in slot.module.readings
                },
                slot.list_refused(),
            )
            for slot in self._slots.values()
        }

    def statistics(self) -> dict[str, SlotStatistics]:
        """Return the statistics of the requests by slot number."""
        return {str(slot.number): slot.counters.statistics() for slot in self._slots.values()}

    # --- changes of settings ----------------------------------------------------------------------

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
            self._report(slot.number)
        self._share_out(slots)

    def _share_out(self, slots: dict[int, ModuleSlot]) -> None:
        """Assign the slots to their buses, and close connections that no slot uses any longer."""
        slots = slots if self._has_power else {}
        hosts = {slot.host for slot in slots.values()}
        for host in hosts - self._workers.keys():
            self._workers[host] = self._worker(self._connect(host))
        for host, worker in self._workers.items():
            worker.set_slots({n: slot for n, slot in slots.items() if slot.host == host})
        for host in self._workers.keys() - hosts - {SERIAL}:
            ending = asyncio.create_task(self._workers.pop(host).close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    def _worker(self, bus: Bus) -> BusWorker:
        return BusWorker(bus, self._report_slot, self._troubles, self._wall)

    def _slot(self, number: int) -> ModuleSlot | None:
        module = module_in_slot(self._settings, number)
        if module is None:
            return None
        setting = self._settings.modbus_slots[number - 1]
        if not setting.host and SERIAL not in self._workers:
            return None
        wanted = (setting.slave_id, setting.host, module)
        present = self._slots.get(number)
        if present and (present.slave, present.host, present.module) == wanted:
            return present
        label = label_in_slot(self._settings, number)
        return ModuleSlot(
            number, label, setting.slave_id, module, blocks_of(module), host=setting.host
        )

    def _report_slot(self, slot: ModuleSlot) -> None:
        self._report(slot.number)

    def _report(self, number: int) -> None:
        """Report the readings of a slot; an empty slot has none."""
        slot = self._slots.get(number)
        values = NO_READINGS if slot is None else tuple(slot.values)
        mapped = map_readings(module_mapping(self._settings), {number: values})
        self._sense({f"slot{number}": values, **mapped})
