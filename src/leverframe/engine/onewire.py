"""DS1-DS8: thermometers on the 1-Wire bus.

A sensor reports under its ID and belongs to the position whose settings name that ID. A board may
also report under the position's label; such a value wins over one that came by ID until it becomes
absent.
"""

import re
from typing import Any

from leverframe.engine.labels import ONEWIRE
from leverframe.engine.machine import Machine
from leverframe.engine.readings import round_result, valid_reading
from leverframe.engine.settings import NO_ONEWIRE_ID, Settings

_ID = re.compile(r"[0-9A-F]{2}(:[0-9A-F]{2}){7}")
_INDEX = {label: index for index, label in enumerate(ONEWIRE)}


class OneWire:
    __slots__ = ("_bus", "_by_id", "_by_label", "_machine", "_places", "_step", "bound")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._by_label: dict[str, float | None] = dict.fromkeys(ONEWIRE)
        self._by_id: dict[str, float] = {}
        self._bus: tuple[str, ...] = ()
        #: How many steps `next_id` has gone through the bus.
        self._step = 0
        self._places: dict[str, list[int]] = {}
        #: The labels whose settings name a sensor.
        self.bound: tuple[str, ...] = ()
        self._bind()

    def adopt(self, old: Settings) -> None:
        new = self._machine.settings.onewire
        if new is old.onewire:
            return
        self._bind()
        for index, (before, after) in enumerate(zip(old.onewire, new, strict=True)):
            if before is not after:
                self._show(index)

    def take_label(self, label: str, value: Any) -> None:
        raw = valid_reading(label, value)
        if raw != self._by_label[label]:
            self._by_label[label] = raw
            self._show(_INDEX[label])

    def take_id(self, text: str, value: Any) -> None:
        """Take a reading by ID; ignore anything that is no ID."""
        sensor_id = text.upper()
        if not _ID.fullmatch(sensor_id):
            return
        raw = valid_reading(ONEWIRE[0], value)
        if raw == self._by_id.get(sensor_id):
            return
        if raw is None:
            del self._by_id[sensor_id]
        else:
            self._by_id[sensor_id] = raw
        self._show_places(sensor_id)

    def take_bus(self, ids: Any) -> None:
        """Take the IDs that answered on the bus; a sensor that no longer does becomes absent."""
        found = ids if isinstance(ids, tuple | list) else ()
        bus = tuple(item.upper() for item in found if isinstance(item, str))
        if bus == self._bus:
            return
        gone = set(self._bus) - set(bus)
        self._bus = bus
        self._step = 0
        for sensor_id in gone & self._by_id.keys():
            del self._by_id[sensor_id]
            self._show_places(sensor_id)

    def next_id(self) -> str:
        """Put the next ID of the bus into `dsid`; after the last one, once, `NO_ONEWIRE_ID`."""
        round_trip = (*self._bus, NO_ONEWIRE_ID)
        shown = round_trip[self._step % len(round_trip)]
        self._step += 1
        if shown != self._machine.dsid:
            self._machine.dsid = shown
            self._machine.version += 1
        return shown

    def raw(self, label: str) -> float | None:
        by_label = self._by_label[label]
        if by_label is not None:
            return by_label
        return self._by_id.get(self._machine.settings.onewire[_INDEX[label]].id)

    def _bind(self) -> None:
        settings = self._machine.settings.onewire
        bound = [index for index, one in enumerate(settings) if one.id != NO_ONEWIRE_ID]
        self.bound = tuple(ONEWIRE[index] for index in bound)
        self._places = {}
        for index in bound:
            self._places.setdefault(settings[index].id, []).append(index)

    def _show_places(self, sensor_id: str) -> None:
        for index in self._places.get(sensor_id, ()):
            self._show(index)

    def _show(self, index: int) -> None:
        label = ONEWIRE[index]
        raw = self.raw(label)
        offset = self._machine.settings.onewire[index].offset
        self._machine.put(label, None if raw is None else round_result(raw + offset))
