"""The 1-Wire bus through the kernel's `w1` class.

The kernel searches the bus and has a folder for each sensor. Sensors that are bound to a position
or serve as an additional one are read, one after another, because a conversion takes most of a
second and the bus is one wire. All IDs are reported, so that they can be stepped through.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from leverframe.engine.settings import NO_ONEWIRE_ID, ModbusMapping, Settings
from leverframe.hardware.last_good import LastGood
from leverframe.hardware.module_mapping import ONEWIRE_SLOTS, find_freed_labels, map_readings
from leverframe.hardware.poller import PollResult
from leverframe.hardware.sysfs import read_text
from leverframe.hardware.troubles import Unusable, os_error_text
from leverframe.wire.w1_slave import (
    DAMAGED,
    NoTemperature,
    celsius_from_text,
    id_from_name,
    name_from_id,
)

FOLDER = Path("bus/w1/devices")
#: The kernel's folder for each adapter begins so.
MASTER = "w1_bus_master"
NOT_ON_BUS = "is not on the bus; check its wires, or free its position."


class OneWireBus:
    name = "1-Wire bus"
    period_s = 2.0
    #: Eleven sensors with a second each, and some that fail.
    limit_s = 30.0

    def __init__(self, sysfs: Path, extra: tuple[str, ...]) -> None:
        self._devices = sysfs / FOLDER
        self._extra = extra
        self._bound: tuple[str, ...] = ()
        self._mapping: Sequence[ModbusMapping] = ()
        self._last_good = LastGood[float]()
        #: The sensors and the mapping of the last look.
        self._shown: set[str] = set()
        self._shown_mapping: Sequence[ModbusMapping] = ()

    def adopt(self, settings: Settings) -> bool:
        """Return whether anything is new here. `look` may be running: whole values are replaced."""
        ids = (sensor.id for sensor in settings.onewire if sensor.id != NO_ONEWIRE_ID)
        bound, mapping = tuple(ids), settings.modbus_mapping
        if (bound, mapping) == (self._bound, self._mapping):
            return False
        self._bound, self._mapping = bound, mapping
        return True

    def poll(self) -> PollResult:
        bound, mapping = self._bound, self._mapping
        try:
            found = self.search()
            troubles = {}
        except Unusable as fault:
            found = ()
            troubles = {self.name: str(fault)}
            # Without its adapter no sensor has merely failed once.
            self._last_good = LastGood[float]()
        shown: dict[str, float | None] = {}
        for sensor_id in dict.fromkeys((*bound, *self._extra)):
            celsius, complaint = None, NOT_ON_BUS
            if sensor_id in found:
                try:
                    celsius = self.measure(sensor_id)
                except Unusable as fault:
                    complaint = str(fault)
            shown[sensor_id] = self._last_good.judge(sensor_id, celsius)
            if shown[sensor_id] is None:
                troubles[f"1-Wire sensor {sensor_id}"] = complaint
        no_longer = {
            **dict.fromkeys(self._shown - shown.keys()),
            **find_freed_labels(self._shown_mapping, mapping, ONEWIRE_SLOTS),
        }
        self._shown, self._shown_mapping = set(shown), mapping
        mapped = self._map_readings(shown, mapping)
        return PollResult({**no_longer, "onewire": found, **shown, **mapped}, troubles)

    def search(self) -> tuple[str, ...]:
        """List the IDs that the kernel knows on the bus."""
        try:
            names = sorted(path.name for path in self._devices.iterdir())
        except OSError as error:
            raise Unusable(
                f"{os_error_text(error, str(self._devices))} Is the w1 driver loaded?"
            ) from error
        if not any(name.startswith(MASTER) for name in names):
            raise Unusable(
                f"{self._devices} has no adapter; plug it in, or load its driver (for one on a GPIO"
                " line: w1-gpio)."
            )
        return tuple(found for name in names if (found := id_from_name(name)) is not None)

    def adapters(self) -> object:
        """Return what changes when an adapter is pulled or plugged in."""
        try:
            with os.scandir(self._devices) as entries:
                return {entry.inode() for entry in entries if entry.name.startswith(MASTER)}
        except OSError:
            return None

    def measure(self, sensor_id: str) -> float:
        """Measure the temperature of a sensor; raises `Unusable` if it gives none."""
        folder = self._devices / name_from_id(sensor_id)
        text = read_text(folder / "w1_slave")
        try:
            return celsius_from_text(text)
        except NoTemperature as fault:
            is_damaged = not text and _fails_with_wrong_checksums(folder)
            raise Unusable(DAMAGED if is_damaged else str(fault)) from None

    def _map_readings(
        self, shown: Mapping[str, float | None], mapping: Sequence[ModbusMapping]
    ) -> dict[str, float | None]:
        """Return m1-m30 of the additional sensors, whose only reading is the temperature."""
        slots: dict[int, Sequence[float | None]] = dict.fromkeys(ONEWIRE_SLOTS, ())
        for slot, sensor_id in zip(ONEWIRE_SLOTS, self._extra, strict=False):
            slots[slot] = (shown[sensor_id],)
        return map_readings(mapping, slots)


def _fails_with_wrong_checksums(folder: Path) -> bool:
    """Ask for a reason: since Linux 5.8 a sensor that could not be read has an empty `w1_slave`."""
    try:
        return read_text(folder / "resolution") == str(-errno.EIO)
    except Unusable:
        return False
