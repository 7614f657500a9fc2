"""A USB adapter that is made of software: the kernel finds it on a port and loads its driver.

The kernel can take USB devices from a socket (USB/IP). At the other end of this one is a
i2c-tiny-usb, an adapter for I2C that knows control requests only; on its bus are parts that behave
as their data sheets say. Pulling it means closing the socket.
"""

import socket
import struct
import threading
from pathlib import Path
from typing import Protocol

from tests.kernel.machine import until

PORTS = Path("/sys/devices/platform/vhci_hcd.0")
SUBMIT, UNLINK = 1, 2
ANSWERS = 0x0000_0003, 0x0000_0004
#: Numbers of Linux: a request that the device does not know, and one that was taken back.
STALLED, TAKEN_BACK = -32, -104
FULL_SPEED = 2
GET_DESCRIPTOR, VENDOR = 6, 0x40
GET_FUNCTIONS, GET_STATUS, TRANSFER = 1, 3, 4
ACKNOWLEDGED, REFUSED = 1, 2
#: Plain I2C, and all of SMBus that can be made of it.
FUNCTIONS = 0x0000_0001 | 0x0EFF_0008

_REQUEST = struct.Struct(">IIIII IiiII 8s")
_ANSWER = struct.Struct(">IIIII iiiii 8x")
_SETUP = struct.Struct("<BBHHH")
_DEVICE = struct.pack(
    "<BBHBBBBHHHBBBB", 18, 1, 0x110, 255, 0, 0, 8, 0x0403, 0xC631, 0x100, 0, 0, 0, 1
)
_INTERFACE = struct.pack("<BBBBBBBBB", 9, 4, 0, 0, 0, 255, 0, 0, 0)
_CONFIGURATION = struct.pack("<BBHBBBBB", 9, 2, 18, 1, 1, 0, 0x80, 50) + _INTERFACE
_DESCRIPTORS = {1: _DEVICE, 2: _CONFIGURATION}


class Part(Protocol):
    """A part on the bus; it refuses with an OSError."""

    def write(self, data: bytes) -> None: ...

    def read(self, count: int) -> bytes: ...


class UsbI2cAdapter:
    def __init__(self, port: int = 0) -> None:
        self.parts: dict[int, Part] = {}
        self._port = port
        self._status = ACKNOWLEDGED
        self._socket: socket.socket | None = None

    def plug(self) -> int:
        """Plug it in; return the number of its bus."""
        before = set(Path("/sys/bus/i2c/devices").glob("i2c-*"))
        self._socket, kernels = socket.socketpair()
        with kernels:
            words = f"{self._port} {kernels.fileno()} 1 {FULL_SPEED}"
            until(lambda: _attach(words), "the port is free")
        threading.Thread(target=self._serve, args=(self._socket,), daemon=True).start()
        found: set[Path] = set()

        def is_there() -> bool:
            found.update(set(Path("/sys/bus/i2c/devices").glob("i2c-*")) - before)
            return bool(found)

        until(is_there, "the adapter has a bus")
        return int(found.pop().name.removeprefix("i2c-"))

    def pull(self) -> None:
        if self._socket is not None:
            self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self._socket = None

    def _serve(self, line: socket.socket) -> None:
        while (head := _read(line, _REQUEST.size)) is not None:
            command, number, device, is_in, _, flags, length, *_, setup = _REQUEST.unpack(head)
            if command == UNLINK:
                line.sendall(_ANSWER.pack(ANSWERS[1], number, device, 0, 0, TAKEN_BACK, 0, 0, 0, 0))
                continue
            data = b"" if is_in else _read(line, length) or b""
            answer = self._control(_SETUP.unpack(setup), data)
            status, answer = (STALLED, b"") if answer is None else (0, answer[:length])
            count = len(answer) if is_in else len(data)
            try:
                line.sendall(
                    _ANSWER.pack(ANSWERS[0], number, device, 0, 0, status, count, 0, 0, 0) + answer
                )
            except OSError:
                return

    def _control(self, setup: tuple[int, ...], data: bytes) -> bytes | None:
        kind, request, value, index, length = setup
        if not kind & VENDOR:
            if request == GET_DESCRIPTOR:
                return _DESCRIPTORS.get(value >> 8)
            return b""
        if request == GET_FUNCTIONS:
            return FUNCTIONS.to_bytes(4, "little")
        if request == GET_STATUS:
            return bytes((self._status,))
        if request & TRANSFER:
            return self._transfer(index, data, length if kind & 0x80 else 0)
        return b""

    def _transfer(self, address: int, data: bytes, count: int) -> bytes:
        self._status = ACKNOWLEDGED
        try:
            part = self.parts[address]
            if count:
                return part.read(count).ljust(count, b"\xff")
            if data:
                part.write(data)
        except (KeyError, OSError):
            self._status = REFUSED
        return bytes(count)


def _attach(words: str) -> bool:
    try:
        (PORTS / "attach").write_text(words)
    except OSError:
        # Whatever was there before is still being taken away.
        return False
    return True


def _read(line: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        try:
            more = line.recv(count - len(data))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return data
