"""The I2C bus: what the drivers of the sensors need of it, and the kernel's.

`I2cBus` is all that the drivers know, so that a bus of another kind can stand in for the kernel's.
A part that does not answer is an `OSError`. All methods may block; they run in the bus's thread.
"""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from leverframe.hardware.troubles import Unusable, not_installed, os_error_text


class I2cBus(Protocol):
    def write(self, address: int, data: bytes) -> None: ...

    def read(self, address: int, count: int) -> bytes: ...

    def ask(self, address: int, data: bytes, count: int) -> bytes:
        """Write, then read without releasing the bus in between."""

    def pause(self, seconds: float) -> None:
        """Wait until a part is ready."""

    def close(self) -> None: ...


#: Errors that are not those of a part that does not answer.
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
        from leverframe.hardware.smbus_bus import SmbusBus
    except ImportError:
        raise not_installed("smbus2") from None
    try:
        return SmbusBus(number)
    except OSError as error:
        raise Unusable(os_error_text(error, str(bus_file(number)))) from error
