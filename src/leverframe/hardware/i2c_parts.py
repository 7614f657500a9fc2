"""Drivers of the I2C sensors: how each is found, set up and asked.

What its bytes mean is said in `wire/`. A part that does not answer raises `OSError`, and is set up
again at the next try, because it may have been unplugged in the meantime. A measurement that is not
there yet is None; an answer whose checksum is wrong raises `DamagedAnswer`.
"""

from contextlib import suppress
from typing import Protocol

from leverframe.engine.labels import PARTICULATES
from leverframe.hardware.i2c_bus import I2cBus
from leverframe.wire import am2320, bme280, hts221, sps30_i2c

Measured = dict[str, float | None]

#: A single measurement of the BME280 takes less than 10 ms.
BME280_MEASURES_S = 0.01
BME280_LOOKS = 5
#: The SPS30 needs a moment to take a command.
SPS30_TAKES_S = 0.02


class DamagedAnswer(Exception):
    """A part answered, and the checksum of its answer is wrong."""


class Part(Protocol):
    def is_there(self) -> bool:
        """Return whether the part answers; raises `DamagedAnswer` if it does so with errors."""

    def measure(self) -> Measured:
        """Measure values by label; raises `OSError` if the part does not answer."""


class Bme280:
    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus
        self._address: int | None = None
        self._calibration: bme280.Bme280Calibration | None = None

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
        bus.write(address, bytes((bme280.CONTROL_HUMIDITY, bme280.SINGLE_SAMPLE)))
        bus.write(address, bytes((bme280.CONTROL_MEASUREMENT, bme280.MEASURE_ONCE)))
        for _ in range(BME280_LOOKS):
            bus.pause(BME280_MEASURES_S)
            (status,) = bus.ask(address, bytes((bme280.STATUS_REGISTER,)), 1)
            if not status & bme280.STATUS_MEASURING:
                break
        data = bus.ask(address, bytes((bme280.MEASUREMENT_REGISTER,)), bme280.MEASUREMENT_BYTES)
        found = bme280.decode_measurement(data, calibration)
        return {"T1": found.celsius, "H1": found.percent, "P1": found.hpa}

    def _set_up(self) -> tuple[int, bme280.Bme280Calibration]:
        if self._address is None or self._calibration is None:
            self._address = self._find()
            if self._address is None:
                raise OSError("no BME280 answers")
            low, high = (
                self._bus.ask(self._address, bytes((register,)), count)
                for register, count in bme280.CALIBRATION_REGISTERS
            )
            self._calibration = bme280.decode_calibration(low, high)
        return self._address, self._calibration

    def _find(self) -> int | None:
        for address in bme280.ADDRESSES:
            with suppress(OSError):
                chip = self._bus.ask(address, bytes((bme280.CHIP_ID_REGISTER,)), 1)
                if chip[0] == bme280.CHIP_ID:
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
        found = am2320.decode_answer(self._answer())
        if found is None:
            raise DamagedAnswer
        return {"T1": found.celsius, "H1": found.percent}

    def _answer(self) -> bytes:
        with suppress(OSError):
            # It is asleep and does not answer, but this wakes it.
            self._bus.write(am2320.ADDRESS, b"\0")
        self._bus.pause(am2320.WAKE_UP_S)
        self._bus.write(am2320.ADDRESS, am2320.REQUEST)
        self._bus.pause(am2320.ANSWER_AFTER_S)
        return self._bus.read(am2320.ADDRESS, am2320.ANSWER_BYTES)


class Hts221:
    def __init__(self, bus: I2cBus) -> None:
        self._bus = bus
        self._calibration: hts221.Hts221Calibration | None = None

    def is_there(self) -> bool:
        with suppress(OSError):
            return self._ask(hts221.WHO_AM_I_REGISTER, 1)[0] == hts221.WHO_AM_I
        return False

    def measure(self) -> Measured:
        try:
            return self._measure()
        except OSError:
            self._calibration = None
            raise

    def _measure(self) -> Measured:
        if self._calibration is None:
            data = self._ask(hts221.CALIBRATION_REGISTER, hts221.CALIBRATION_BYTES)
            command = bytes((hts221.CONTROL_REGISTER, hts221.MEASURE_EVERY_SECOND))
            self._bus.write(hts221.ADDRESS, command)
            self._calibration = hts221.decode_calibration(data)
        status = self._ask(hts221.STATUS_REGISTER, 1)[0]
        if status & hts221.STATUS_BOTH_NEW != hts221.STATUS_BOTH_NEW:
            return {"T1": None, "H1": None}
        data = self._ask(hts221.MEASUREMENT_REGISTER, hts221.MEASUREMENT_BYTES)
        found = hts221.decode_measurement(data, self._calibration)
        return {"T1": found.celsius, "H1": found.percent}

    def _ask(self, register: int, count: int) -> bytes:
        return self._bus.ask(hts221.ADDRESS, bytes((register,)), count)


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
        """Stop the fan; a part that is gone needs no stopping."""
        if self._measuring:
            self._measuring = False
            with suppress(OSError):
                self._bus.write(sps30_i2c.ADDRESS, sps30_i2c.STOP)

    def _masses(self) -> tuple[float, ...] | None:
        if not self._measuring:
            self._bus.write(sps30_i2c.ADDRESS, sps30_i2c.start_command())
            self._measuring = True
            return None
        if not self._is_ready():
            return None
        masses = sps30_i2c.decode_masses(self._ask(sps30_i2c.READ, sps30_i2c.MASSES_BYTES))
        if masses is None:
            raise DamagedAnswer
        return masses

    def _is_ready(self) -> bool:
        answer = self._ask(sps30_i2c.DATA_READY, sps30_i2c.DATA_READY_BYTES)
        if sps30_i2c.decode_words(answer) is None:
            raise DamagedAnswer
        return sps30_i2c.decode_ready(answer)

    def _ask(self, command: bytes, count: int) -> bytes:
        self._bus.write(sps30_i2c.ADDRESS, command)
        self._bus.pause(SPS30_TAKES_S)
        return self._bus.read(sps30_i2c.ADDRESS, count)
