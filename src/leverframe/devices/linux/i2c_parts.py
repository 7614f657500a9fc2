"""Drivers of the I2C sensors: they detect, configure and read the sensors.

`wire/` decodes their bytes. A part that does not answer raises `OSError`, and is configured again
at the next attempt, because it may have been unplugged in the meantime. A driver returns None if a
measurement is not ready yet, and raises `DamagedAnswer` if a checksum is wrong.
"""

import errno
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from leverframe.core.labels import PARTICULATES
from leverframe.devices.readings import Unusable, not_installed, os_error_text
from leverframe.devices.wire import i2c_chips

# The I2C bus: the interface that the drivers of the sensors need, and its implementation by the
# kernel.
#
# The drivers know only `I2cBus`, so that a substitute can replace the kernel's bus. A part that
# does not answer raises `OSError`. All methods may block; they run in the thread of the bus.


class I2cBus(Protocol):
    def write(self, address: int, data: bytes) -> None: ...

    def read(self, address: int, count: int) -> bytes: ...

    def ask(self, address: int, data: bytes, count: int) -> bytes:
        """Write, then read without releasing the bus in between."""

    def pause(self, seconds: float) -> None:
        """Wait for a part, which needs time to process a command."""

    def close(self) -> None: ...


#: Errors of the bus or of access rights, unlike those of a part that does not answer.
NOT_ITS_FAULT = (
    errno.EACCES,
    errno.EPERM,
    errno.EBUSY,
    errno.ENODEV,
    errno.ESHUTDOWN,
    errno.EOPNOTSUPP,
)

OpenBus = Callable[[int], I2cBus]


def bus_file(number: int) -> Path:
    return Path(f"/dev/i2c-{number}")


def open_kernel_bus(number: int) -> I2cBus:
    """Open /dev/i2c-NUMBER; raises `Unusable`."""
    try:
        from leverframe.devices.linux.kernel_drivers import SmbusBus
    except ImportError:
        raise not_installed("smbus2") from None
    try:
        return SmbusBus(number)
    except OSError as error:
        raise Unusable(os_error_text(error, str(bus_file(number)))) from error


Measured = dict[str, float | None]

#: A single measurement of the BME280 takes less than 10 ms.
BME280_MEASURES_S = 0.01
BME280_LOOKS = 5
#: The SPS30 needs a moment to process a command.
SPS30_TAKES_S = 0.02


class DamagedAnswer(Exception):
    """A part answered, but the checksum of its answer is wrong."""


class Part(Protocol):
    def is_there(self) -> bool:
        """Return whether the sensor answers; raise `DamagedAnswer` if its answer is damaged."""

    def measure(self) -> Measured:
        """Measure values by label; raise `OSError` if the part does not answer."""


class Bme280:
    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus
        self._address: int | None = None
        self._calibration: i2c_chips.Bme280Calibration | None = None

    def is_there(self) -> bool:
        return self._find() is not None

    def measure(self) -> Measured:
        try:
            return self._measure()
        except OSError:
            self._calibration = self._address = None
            raise

    def _measure(self) -> Measured:
        address, calibration = self._set_up()
        bus = self._bus
        bus.write(
            address, bytes((i2c_chips.BME280_CONTROL_HUMIDITY, i2c_chips.BME280_SINGLE_SAMPLE))
        )
        bus.write(
            address, bytes((i2c_chips.BME280_CONTROL_MEASUREMENT, i2c_chips.BME280_MEASURE_ONCE))
        )
        for _ in range(BME280_LOOKS):
            bus.pause(BME280_MEASURES_S)
            (status,) = bus.ask(address, bytes((i2c_chips.BME280_STATUS_REGISTER,)), 1)
            if not status & i2c_chips.BME280_STATUS_MEASURING:
                break
        data = bus.ask(
            address,
            bytes((i2c_chips.BME280_MEASUREMENT_REGISTER,)),
            i2c_chips.BME280_MEASUREMENT_BYTES,
        )
        found = i2c_chips.decode_bme280_measurement(data, calibration)
        return {"T1": found.celsius, "H1": found.percent, "P1": found.hpa}

    def _set_up(self) -> tuple[int, i2c_chips.Bme280Calibration]:
        if self._address is None or self._calibration is None:
            self._address = self._find()
            if self._address is None:
                raise OSError("no BME280 answers")
            low, high = (
                self._bus.ask(self._address, bytes((register,)), count)
                for register, count in i2c_chips.BME280_CALIBRATION_REGISTERS
            )
            self._calibration = i2c_chips.decode_bme280_calibration(low, high)
        return self._address, self._calibration

    def _find(self) -> int | None:
        for address in i2c_chips.BME280_ADDRESSES:
            with suppress(OSError):
                chip = self._bus.ask(address, bytes((i2c_chips.BME280_CHIP_ID_REGISTER,)), 1)
                if chip[0] == i2c_chips.BME280_CHIP_ID:
                    return address
        return None


class Am2320:
    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus

    def is_there(self) -> bool:
        with suppress(OSError):
            self.measure()
            return True
        return False

    def measure(self) -> Measured:
        found = i2c_chips.decode_am2320_answer(self._answer())
        if found is None:
            raise DamagedAnswer
        return {"T1": found.celsius, "H1": found.percent}

    def _answer(self) -> bytes:
        with suppress(OSError):
            # A sleeping sensor does not answer this write, but wakes up.
            self._bus.write(i2c_chips.AM2320_ADDRESS, b"\0")
        self._bus.pause(i2c_chips.AM2320_WAKE_UP_S)
        self._bus.write(i2c_chips.AM2320_ADDRESS, i2c_chips.AM2320_REQUEST)
        self._bus.pause(i2c_chips.AM2320_ANSWER_AFTER_S)
        return self._bus.read(i2c_chips.AM2320_ADDRESS, i2c_chips.AM2320_ANSWER_BYTES)


class Hts221:
    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus
        self._calibration: i2c_chips.Hts221Calibration | None = None

    def is_there(self) -> bool:
        with suppress(OSError):
            return self._ask(i2c_chips.HTS221_WHO_AM_I_REGISTER, 1)[0] == i2c_chips.HTS221_WHO_AM_I
        return False

    def measure(self) -> Measured:
        try:
            return self._measure()
        except OSError:
            self._calibration = None
            raise

    def _measure(self) -> Measured:
        if self._calibration is None:
            data = self._ask(
                i2c_chips.HTS221_CALIBRATION_REGISTER, i2c_chips.HTS221_CALIBRATION_BYTES
            )
            command = bytes(
                (i2c_chips.HTS221_CONTROL_REGISTER, i2c_chips.HTS221_MEASURE_EVERY_SECOND)
            )
            self._bus.write(i2c_chips.HTS221_ADDRESS, command)
            self._calibration = i2c_chips.decode_hts221_calibration(data)
        status = self._ask(i2c_chips.HTS221_STATUS_REGISTER, 1)[0]
        if status & i2c_chips.HTS221_STATUS_BOTH_NEW != i2c_chips.HTS221_STATUS_BOTH_NEW:
            return {"T1": None, "H1": None}
        data = self._ask(i2c_chips.HTS221_MEASUREMENT_REGISTER, i2c_chips.HTS221_MEASUREMENT_BYTES)
        found = i2c_chips.decode_hts221_measurement(data, self._calibration)
        return {"T1": found.celsius, "H1": found.percent}

    def _ask(self, register: int, count: int) -> bytes:
        return self._bus.ask(i2c_chips.HTS221_ADDRESS, bytes((register,)), count)


class Sps30:
    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus
        self._measuring = False

    def is_there(self) -> bool:
        with suppress(OSError):
            self._is_ready()
            return True
        return False

    def measure(self) -> Measured:
        try:
            masses = self._masses()
        except OSError:
            self._measuring = False
            raise
        if masses is None:
            return dict.fromkeys(PARTICULATES)
        return dict(zip(PARTICULATES, masses, strict=True))

    def stop(self) -> None:
        """Stop the fan; ignore the error if the sensor was removed."""
        if self._measuring:
            self._measuring = False
            with suppress(OSError):
                self._bus.write(i2c_chips.SPS30_ADDRESS, i2c_chips.SPS30_STOP)

    def _masses(self) -> tuple[float, ...] | None:
        if not self._measuring:
            self._bus.write(i2c_chips.SPS30_ADDRESS, i2c_chips.start_sps30_command())
            self._measuring = True
            return None
        if not self._is_ready():
            return None
        masses = i2c_chips.decode_sps30_masses(
            self._ask(i2c_chips.SPS30_READ, i2c_chips.SPS30_MASSES_BYTES)
        )
        if masses is None:
            raise DamagedAnswer
        return masses

    def _is_ready(self) -> bool:
        answer = self._ask(i2c_chips.SPS30_DATA_READY, i2c_chips.SPS30_DATA_READY_BYTES)
        if i2c_chips.decode_sps30_words(answer) is None:
            raise DamagedAnswer
        return i2c_chips.decode_sps30_ready(answer)

    def _ask(self, command: bytes, count: int) -> bytes:
        self._bus.write(i2c_chips.SPS30_ADDRESS, command)
        self._bus.pause(SPS30_TAKES_S)
        return self._bus.read(i2c_chips.SPS30_ADDRESS, count)
