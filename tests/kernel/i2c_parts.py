"""Parts on the I2C bus of the machine, for drivers of the kernel: each as its data sheet says."""

from leverframe.devices.linux.onewire import check_byte


class MemoryPart:
    """Registers of a byte that are written and read, counting up: a PCA9685, for instance."""

    def __init__(self, registers: dict[int, int]) -> None:
        self.memory = bytearray(256)
        for register, value in registers.items():
            self.memory[register] = value
        self._at = 0

    def write(self, data: bytes) -> None:
        self._at = data[0]
        self.memory[self._at : self._at + len(data) - 1] = data[1:]

    def read(self, count: int) -> bytes:
        return bytes(self.memory[self._at : self._at + count])


class Pca9685(MemoryPart):
    """Sixteen PWM channels of 4096 steps, and the divider of their common frequency."""

    OSCILLATOR_HZ = 25_000_000

    def __init__(self) -> None:
        super().__init__({0x00: 0x11, 0x01: 0x04, 0xFE: 0x1E})

    @property
    def hz(self) -> float:
        return self.OSCILLATOR_HZ / 4096 / (self.memory[0xFE] + 1)

    def duty(self, channel: int) -> float:
        on_low, on_high, off_low, off_high = self.memory[6 + 4 * channel : 10 + 4 * channel]
        if off_high & 0x10:
            return 0.0
        if on_high & 0x10:
            return 1.0
        on, off = on_high << 8 | on_low, off_high << 8 | off_low
        return (off - on) % 4096 / 4096


class Ads1015:
    """Four inputs; a step is a millivolt in the range that the driver chooses."""

    def __init__(self) -> None:
        self.volts = [0.0] * 4
        self._registers = [0, 0x8583, 0x8000, 0x7FFF]
        self._at = 0

    def write(self, data: bytes) -> None:
        self._at = data[0] & 3
        if len(data) == 3:
            self._registers[self._at] = int.from_bytes(data[1:], "big")

    def read(self, count: int) -> bytes:
        value = self._registers[self._at]
        if self._at == 0:
            chosen = self._registers[1] >> 12 & 7
            volts = self.volts[chosen - 4] if chosen >= 4 else 0.0
            value = round(volts * 1000) << 4 & 0xFFFF
        elif self._at == 1:
            value |= 0x8000
        return value.to_bytes(2, "big")


class Ds18b20:
    """A thermometer on the 1-Wire bus."""

    def __init__(self, serial: bytes) -> None:
        body = b"\x28" + serial
        self.code = body + bytes((check_byte(body),))
        self.celsius = 21.5
        #: As a disturbed line makes it.
        self.is_damaged = False

    @property
    def id(self) -> str:
        return ":".join(f"{byte:02X}" for byte in self.code)

    def scratchpad(self) -> bytes:
        raw = round(self.celsius * 16) & 0xFFFF
        body = raw.to_bytes(2, "little") + bytes((0x4B, 0x46, 0x7F, 0xFF, 0x0C & raw, 0x10))
        check = check_byte(body) ^ (0x55 if self.is_damaged else 0)
        return body + bytes((check,))


class Ds2482:
    """An adapter from I2C to the 1-Wire bus."""

    STATUS, DATA, CONFIGURATION = 0xF0, 0xE1, 0xC3

    def __init__(self) -> None:
        self.sensors: list[Ds18b20] = []
        self._pointer = self.STATUS
        self._registers = {self.STATUS: 0x18, self.DATA: 0xFF, self.CONFIGURATION: 0}
        self._chosen: list[Ds18b20] = []
        self._written = b""
        self._answer = b""
        self._bit = 0

    def write(self, data: bytes) -> None:
        command, value = data[0], data[1] if len(data) > 1 else 0
        self._pointer = self.STATUS
        match command:
            case 0xF0:
                self._registers[self.STATUS] = 0x18
            case 0xE1:
                self._pointer = value
            case 0xD2:
                self._pointer = self.CONFIGURATION
                self._registers[self.CONFIGURATION] = value & 0x0F
                self._registers[self.STATUS] &= ~0x10
            case 0xC3:
                raise OSError("only the part with eight channels knows that")
            case 0xB4:
                self._reset()
            case 0xA5:
                self._take(value)
            case 0x96:
                self._registers[self.DATA], self._answer = (
                    (self._answer or b"\xff")[0],
                    self._answer[1:],
                )
            case 0x78:
                self._triplet(value >> 7)
            case 0x87:
                self._registers[self.STATUS] = 0x08 | (0x20 if value else 0)

    def read(self, count: int) -> bytes:
        return bytes((self._registers[self._pointer],)) * count

    def _reset(self) -> None:
        self._written, self._answer, self._bit = b"", b"", 0
        self._chosen = list(self.sensors)
        self._registers[self.STATUS] = 0x08 | (0x02 if self.sensors else 0)

    def _take(self, value: int) -> None:
        self._registers[self.STATUS] = 0x08
        self._written += bytes((value,))
        written = self._written
        if written[:1] == b"\x55" and len(written) == 9:
            self._chosen = [sensor for sensor in self.sensors if sensor.code == written[1:]]
            self._written = b"\xcc"
        elif written == b"\xcc\xbe" and self._chosen:
            self._answer = self._chosen[0].scratchpad()

    def _triplet(self, direction: int) -> None:
        """Answer a step of the search: a bit of all that still take part, and its complement."""
        at, bit = divmod(self._bit, 8)
        bits = [sensor.code[at] >> bit & 1 for sensor in self._chosen]
        first, second = int(all(bits)), int(not any(bits))
        if first != second:
            direction = first
        self._chosen = [
            sensor for sensor in self._chosen if sensor.code[at] >> bit & 1 == direction
        ]
        self._bit = min(self._bit + 1, 63)
        self._registers[self.STATUS] = 0x08 | first << 5 | second << 6 | direction << 7
