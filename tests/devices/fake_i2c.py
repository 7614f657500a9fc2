"""An I2C bus with parts that behave as their data sheets say, as far as the drivers use them."""

from struct import pack

from leverframe.devices.wire import i2c_chips
from leverframe.devices.wire.modbus_frames import crc16

#: The example of the maker's data sheet: 25.08 °C and 1006.53 hPa.
BME280_WORDS = (27504, 26435, -1000, 36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000)
BME280_RAW_TEMPERATURE, BME280_RAW_PRESSURE = 519888, 415148


class FakeI2cBus:
    """Parts by address; a part that is missing does not answer."""

    def __init__(self) -> None:
        self.parts: dict[int, RegisterPart | SleepyPart | CommandPart] = {}
        self.closed = False

    def write(self, address: int, data: bytes) -> None:
        self._part(address).write(data)

    def read(self, address: int, count: int) -> bytes:
        return self._part(address).read(count)

    def ask(self, address: int, data: bytes, count: int) -> bytes:
        self.write(address, data)
        return self.read(address, count)

    def pause(self, seconds: float) -> None:
        """Parts on this bus are quick."""

    def close(self) -> None:
        self.closed = True

    def _part(self, address: int) -> "RegisterPart | SleepyPart | CommandPart":
        if address not in self.parts:
            raise OSError(121, "Remote I/O error")
        return self.parts[address]


class RegisterPart:
    """A register is chosen by writing its number; reading counts up."""

    def __init__(self, registers: dict[int, bytes], mask: int = 0xFF) -> None:
        self.memory = bytearray(256)
        for register, data in registers.items():
            self.memory[register : register + len(data)] = data
        self._mask = mask
        self._at = 0
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self._at = data[0] & self._mask
        if len(data) > 1:
            self.written.append(data)

    def read(self, count: int) -> bytes:
        return bytes(self.memory[self._at : self._at + count])


class SleepyPart:
    """Wakes up at a first write, which it does not acknowledge."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self._awake = False

    def write(self, data: bytes) -> None:
        if not self._awake:
            self._awake = True
            raise OSError(121, "Remote I/O error")

    def read(self, count: int) -> bytes:
        self._awake = False
        return self.answer[:count]


class CommandPart:
    """Answers the command that was written last."""

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self.answers = answers
        self.commands: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.commands.append(data)

    def read(self, count: int) -> bytes:
        return self.answers[self.commands[-1]][:count]


def bme280_part() -> RegisterPart:
    pressure, temperature = BME280_RAW_PRESSURE << 4, BME280_RAW_TEMPERATURE << 4
    measured = pressure.to_bytes(3, "big") + temperature.to_bytes(3, "big") + pack(">H", 0x7000)
    return RegisterPart(
        {
            0x88: pack("<HhhHhhhhhhhh", *BME280_WORDS) + bytes((0, 75)),
            0xE1: pack("<hB", 370, 0) + bytes((0x13, 0x29, 0x03, 30)),
            i2c_chips.BME280_CHIP_ID_REGISTER: bytes((i2c_chips.BME280_CHIP_ID,)),
            i2c_chips.BME280_MEASUREMENT_REGISTER: measured,
        }
    )


def am2320_answer(celsius: float, percent: float) -> bytes:
    amount = round(abs(celsius) * 10) | (0x8000 if celsius < 0 else 0)
    body = pack(">BBHH", 3, 4, round(percent * 10), amount)
    return body + crc16(body).to_bytes(2, "little")


def am2320_part(celsius: float, percent: float) -> SleepyPart:
    return SleepyPart(am2320_answer(celsius, percent))


def hts221_part() -> RegisterPart:
    """20 % at 0 and 60 % at 4000; 10 °C at 0 and 42 °C at 3200; measured 40 % and 26 °C."""
    calibration = bytes((40, 120, 80, 80, 0, 0b0100)) + pack("<5h", 0, 0, 4000, 0, 3200)
    return RegisterPart(
        {
            i2c_chips.HTS221_WHO_AM_I_REGISTER: bytes((i2c_chips.HTS221_WHO_AM_I,)),
            0x30: calibration,
            i2c_chips.HTS221_STATUS_REGISTER: bytes((3,)),
            0x28: pack("<2h", 2000, 1600),
        },
        # The highest bit only says that the address counts up.
        mask=0x7F,
    )


def sps30_part(*masses: float) -> CommandPart:
    values = pack(">10f", *masses, *[0.0] * 6)
    return CommandPart(
        {
            i2c_chips.SPS30_DATA_READY: i2c_chips.encode_sps30_words(bytes((0, 1))),
            i2c_chips.SPS30_READ: i2c_chips.encode_sps30_words(values),
        }
    )


def full_bus() -> FakeI2cBus:
    bus = FakeI2cBus()
    bus.parts = {
        0x76: bme280_part(),
        i2c_chips.AM2320_ADDRESS: am2320_part(21.5, 50.0),
        i2c_chips.HTS221_ADDRESS: hts221_part(),
        i2c_chips.SPS30_ADDRESS: sps30_part(1.5, 2.5, 3.5, 4.5),
    }
    return bus
