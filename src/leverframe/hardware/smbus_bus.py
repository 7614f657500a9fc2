"""The kernel's I2C bus, through the `smbus2` package, which only this file imports."""

import time

from smbus2 import SMBus, i2c_msg


class SmbusBus:
    def __init__(self, number: int) -> None:
        self._bus = SMBus(number)

    def write(self, address: int, data: bytes) -> None:
        self._bus.i2c_rdwr(i2c_msg.write(address, data))

    def read(self, address: int, count: int) -> bytes:
        answer = i2c_msg.read(address, count)
        self._bus.i2c_rdwr(answer)
        return bytes(answer)

    def ask(self, address: int, data: bytes, count: int) -> bytes:
        answer = i2c_msg.read(address, count)
        self._bus.i2c_rdwr(i2c_msg.write(address, data), answer)
        return bytes(answer)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        self._bus.close()
