"""The sensors on the I2C bus that the settings select.

The primary sensor supplies T1, H1 and, if it can, P1; the SPS30 supplies the particulates. The
primary sensor that answers is reported as `i2c` even if it is not selected, so that a command can
detect it.

The kernel sets the speed of the bus from the device tree at boot. The speed in the settings has no
effect, except that a faster bus is reported as a problem.
"""

import logging
from contextlib import suppress
from pathlib import Path

from leverframe.core.settings import I2c, Settings
from leverframe.devices.linux.device_thread import PollResult, file_identity
from leverframe.devices.linux.i2c_parts import (
    NOT_ITS_FAULT,
    Am2320,
    Bme280,
    DamagedAnswer,
    Hts221,
    I2cBus,
    Measured,
    OpenBus,
    Part,
    Sps30,
)
from leverframe.devices.readings import LastGood, Unusable, os_error_text

log = logging.getLogger(__name__)

NO_SENSOR = "NONE"


class I2cSensors:
    #: The AM2320 needs two seconds between two measurements.
    period_s = 2.5
    limit_s = 10.0

    def __init__(self, sysfs: Path, number: int, open_bus: OpenBus) -> None:
        self.name = f"I2C bus {number}"
        self._sysfs = sysfs
        self._number = number
        self._open_bus = open_bus
        self._bus: I2cBus | None = None
        self._parts: dict[str, Part] = {}
        self._sps30: Sps30 | None = None
        self._chosen = I2c()
        self._compared_khz: int | None = None
        self._last_good = LastGood[Measured]()
        #: The labels of the last poll's readings.
        self._gave: set[str] = set()
        #: The adapter that was present when the bus was opened.
        self._opened_on: object = None

    def adopt(self, settings: Settings) -> bool:
        """Apply settings, even during a `poll`; return whether they changed."""
        if settings.i2c == self._chosen:
            return False
        self._chosen = settings.i2c
        return True

    def poll(self) -> PollResult:
        chosen = self._chosen
        self._compare_speed(chosen.frequency)
        if self._opened_on != self.adapters():
            # The kernel cannot release a pulled adapter while a program holds it open.
            self._close()
            self._last_good = LastGood[Measured]()
        readings: Measured = {}
        troubles: dict[str, str] = {}
        found: str | None = None
        try:
            self._open()
        except Unusable as fault:
            troubles[self.name] = str(fault)
        else:
            self._measure_chosen(chosen, readings, troubles)
            primary = chosen.primary
            found = primary if primary in self._parts and primary not in troubles else self.search()
        is_silent = _checksum_problem(self.name) not in troubles.values()
        if troubles and is_silent and not readings and found is None:
            # An adapter that was unplugged and plugged in again needs a new handle.
            self._close()
        no_longer = dict.fromkeys(self._gave - readings.keys())
        self._gave = set(readings)
        return PollResult({**no_longer, **readings, "i2c": found}, troubles)

    def search(self) -> str | None:
        """Return the primary sensor that answers."""
        self._open()
        return next((name for name, part in self._parts.items() if _answers(part)), None)

    def survey(self) -> dict[str, str | None]:
        """Return the sensors that answer, each with the problem of its answer, if any."""
        self._open()
        assert self._sps30 is not None
        found: dict[str, str | None] = {}
        for name, part in {**self._parts, "SPS30": self._sps30}.items():
            try:
                if part.is_there():
                    found[name] = None
            except DamagedAnswer:
                found[name] = _checksum_problem(self.name)
        return found

    def adapters(self) -> object:
        """Return a value that changes when the adapter is pulled or plugged in."""
        return file_identity(self._sysfs / f"bus/i2c/devices/i2c-{self._number}")

    def bus_khz(self) -> float | None:
        """Read the speed of the bus, if the device tree states it."""
        path = self._sysfs / f"bus/i2c/devices/i2c-{self._number}/of_node/clock-frequency"
        try:
            return int.from_bytes(path.read_bytes(), "big") / 1000
        except OSError:
            return None

    def _open(self) -> None:
        if self._bus is None:
            self._opened_on = self.adapters()
            bus = self._bus = self._open_bus(self._number)
            self._parts = {"BME280": Bme280(bus), "AM2320": Am2320(bus), "HTS221": Hts221(bus)}
            self._sps30 = Sps30(bus)

    def _close(self) -> None:
        if self._bus is not None:
            self._bus.close()
            self._bus = None

    def _measure_chosen(self, chosen: I2c, readings: Measured, troubles: dict[str, str]) -> None:
        assert self._sps30 is not None
        if chosen.primary in self._parts:
            self._measure(chosen.primary, self._parts[chosen.primary], readings, troubles)
        if chosen.sps30:
            self._measure("SPS30", self._sps30, readings, troubles)
        else:
            self._sps30.stop()

    def _measure(self, name: str, part: Part, readings: Measured, troubles: dict[str, str]) -> None:
        measured: Measured = {}
        complaint = f"does not answer on {self.name}; check its wires, or choose another sensor."
        try:
            measured = part.measure()
        except DamagedAnswer:
            complaint = _checksum_problem(self.name)
        except OSError as error:
            if error.errno in NOT_ITS_FAULT:
                complaint = os_error_text(error, self.name)
        is_good = any(value is not None for value in measured.values())
        shown = self._last_good.judge(name, measured if is_good else None)
        readings.update(shown or measured)
        if shown is None and not measured:
            troubles[name] = complaint

    def _compare_speed(self, asked_khz: int) -> None:
        if asked_khz == self._compared_khz:
            return
        self._compared_khz = asked_khz
        bus_khz = self.bus_khz()
        if bus_khz is not None and bus_khz > asked_khz:
            log.warning("%s", too_fast(self.name, bus_khz, asked_khz))


def _answers(part: Part) -> bool:
    with suppress(DamagedAnswer):
        return part.is_there()
    return False


def _checksum_problem(name: str) -> str:
    return (
        f"answers with wrong checksums on {name}; the line is disturbed: check the length of its"
        " cable, the pull-up resistors and the speed of the bus."
    )


def too_fast(name: str, bus_khz: float, asked_khz: int) -> str:
    return (
        f"{name} runs at {bus_khz:g} kHz, faster than the {asked_khz} kHz that are set; only the"
        " kernel can slow it down: set its clock-frequency in the device tree."
    )
