"""The 1-Wire bus through the kernel's `w1` class.

The kernel searches the bus and creates a folder for each sensor. Sensors that are assigned to a
position or used as additional sensors are read in every poll, one after another, because they share
a wire and each conversion takes nearly a second. Of the other sensors on the bus, a poll reads only
one, each in turn: a user recognises a new sensor by its temperature before it is assigned.
"""

import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from leverframe.core.errors import ErrorForPeople
from leverframe.core.settings import NO_ONEWIRE_ID, ModbusMapping, Settings
from leverframe.devices.linux.device_thread import PollResult
from leverframe.devices.linux.sysfs import read_text
from leverframe.devices.module_slot import ONEWIRE_SLOTS, find_freed_labels, map_readings
from leverframe.devices.readings import LastGood, Unusable, os_error_text

# The names of 1-Wire sensors in the Linux kernel, and the format of `w1_slave`.
#
# The kernel names a sensor by family and serial number, most significant byte first
# (`28-0317611d64ff`); other programs write the eight bytes in the order in which the bus transmits
# them, with the check byte at the end (`28:FF:64:1D:61:17:03:8D`).
#
# `w1_slave` has two lines: the nine bytes of the sensor's scratchpad with the kernel's check of
# their checksum, and the temperature in thousandths of a degree. Some scratchpads contain no
# reading: all zeros mean a shorted wire, although their checksum is correct; all ones mean that no
# sensor drives the wire; a sensor without a measurement since power-on shows 85 °C, with a byte
# that has another value after a measurement.

_NAME = re.compile(r"([0-9a-f]{2})-([0-9a-f]{12})")
_TEXT = re.compile(
    r"((?:[0-9a-f]{2} ){9}): crc=[0-9a-f]{2} (YES|NO)\n.*t=(-?\d{1,6})\s*", re.DOTALL
)
#: The range of the sensors, in thousandths of a degree.
_MIN, _MAX = -55_000, 125_000
_POWER_ON = 85_000
#: The scratchpad byte of a sensor without a measurement; after a real measurement of 85 °C it is
#: 0x10.
_STATE_BYTE, _STATE_AT_POWER_ON = 6, 0x0C


SILENT = "does not answer; check its wires and its supply."
SHORTED = "returns only zeros; its data wire is shorted to ground, check the wires."
DAMAGED = (
    "answers with wrong checksums; the line is disturbed: check the length of the cable, its"
    " joints and the pull-up resistor."
)
IMPOSSIBLE = "returns a temperature that it cannot measure; check its supply, or replace it."
NOT_MEASURED = "was reset and has not measured since; check its supply."


class NoTemperature(ErrorForPeople):
    """The sensor's answer is not a temperature; the message gives the cause and the remedy."""


def check_byte(data: bytes) -> int:
    """Compute the CRC-8 of the 1-Wire bus."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8C if crc & 1 else 0)
    return crc


def id_from_name(name: str) -> str | None:
    """Return the ID of the sensor with this folder; None if it is not a sensor's folder."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    body = bytes.fromhex(found[1]) + bytes.fromhex(found[2])[::-1]
    return ":".join(f"{byte:02X}" for byte in (*body, check_byte(body)))


def name_from_id(sensor_id: str) -> str:
    """Return the folder of the sensor with this ID."""
    family, *serial, _ = sensor_id.lower().split(":")
    return f"{family}-{''.join(reversed(serial))}"


def celsius_from_text(text: str) -> float:
    """Decode the temperature in `w1_slave`; raise `NoTemperature` if there is none."""
    found = _TEXT.search(text)
    if found is None:
        raise NoTemperature(SILENT)
    scratchpad, is_checked, millidegrees = bytes.fromhex(found[1]), found[2] == "YES", int(found[3])
    if not any(scratchpad):
        raise NoTemperature(SHORTED)
    if all(byte == 0xFF for byte in scratchpad):
        raise NoTemperature(SILENT)
    if not is_checked:
        raise NoTemperature(DAMAGED)
    if not _MIN <= millidegrees <= _MAX:
        raise NoTemperature(IMPOSSIBLE)
    if millidegrees == _POWER_ON and scratchpad[_STATE_BYTE] == _STATE_AT_POWER_ON:
        raise NoTemperature(NOT_MEASURED)
    return millidegrees / 1000


FOLDER = Path("bus/w1/devices")
#: The prefix of the kernel's folder for each adapter.
MASTER = "w1_bus_master"
NOT_ON_BUS = "is not on the bus; check its wires, or free its position."


class OneWireBus:
    name = "1-Wire bus"
    period_s = 2.0
    #: The time limit of a poll: eleven sensors of about one second each, and some failures.
    limit_s = 30.0

    def __init__(self, sysfs: Path, extra: tuple[str, ...]) -> None:
        self._devices = sysfs / FOLDER
        self._extra = extra
        self._bound: tuple[str, ...] = ()
        self._mapping: Sequence[ModbusMapping] = ()
        self._last_good = LastGood[float]()
        #: The sensors and the mapping of the last poll.
        self._shown: set[str] = set()
        self._shown_mapping: Sequence[ModbusMapping] = ()
        #: Number of polls, which selects the unassigned sensor that is read.
        self._polls = 0

    def adopt(self, settings: Settings) -> bool:
        """Apply settings, even during a `poll`; return whether they changed."""
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
            # The bus cannot be read at all, so do not bridge this failure with former values.
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
        spare = self._measure_unassigned([one for one in found if one not in shown])
        return PollResult({**no_longer, "onewire": found, **shown, **spare, **mapped}, troubles)

    def _measure_unassigned(self, sensors: Sequence[str]) -> dict[str, float | None]:
        """Measure one of the sensors without a position; its failures are no problem yet."""
        if not sensors:
            return {}
        sensor_id = sensors[self._polls % len(sensors)]
        self._polls += 1
        try:
            return {sensor_id: self.measure(sensor_id)}
        except Unusable:
            return {sensor_id: None}

    def search(self) -> tuple[str, ...]:
        """List the IDs that the kernel has found on the bus."""
        try:
            names = sorted(path.name for path in self._devices.iterdir())
        except OSError as error:
            raise Unusable(
                f"{os_error_text(error, str(self._devices))} Is the w1 driver loaded?"
            ) from error
        if not any(name.startswith(MASTER) for name in names):
            raise Unusable(
                f"{self._devices} contains no adapter; plug one in, or load its driver (w1-gpio"
                " for an adapter on a GPIO line)."
            )
        return tuple(found for name in names if (found := id_from_name(name)) is not None)

    def adapters(self) -> object:
        """Return a value that changes when an adapter is pulled or plugged in."""
        try:
            with os.scandir(self._devices) as entries:
                return {entry.inode() for entry in entries if entry.name.startswith(MASTER)}
        except OSError:
            return None

    def measure(self, sensor_id: str) -> float:
        """Measure the temperature of a sensor; raise `Unusable` if it returns none."""
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
        """Return m1-m30 of the additional sensors, which have only a temperature."""
        slots: dict[int, Sequence[float | None]] = dict.fromkeys(ONEWIRE_SLOTS, ())
        for slot, sensor_id in zip(ONEWIRE_SLOTS, self._extra, strict=False):
            slots[slot] = (shown[sensor_id],)
        return map_readings(mapping, slots)


def _fails_with_wrong_checksums(folder: Path) -> bool:
    """Return whether the checksum failed; since Linux 5.8, any failure empties `w1_slave`."""
    try:
        return read_text(folder / "resolution") == str(-errno.EIO)
    except Unusable:
        return False
