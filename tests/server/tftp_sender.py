"""A TFTP client that waits for its answers: just enough to send a file, and to stop anywhere."""

import socket
from collections.abc import Iterator

from tests.patience import PATIENCE_S

BLOCK = 512


class TftpRefused(Exception):
    """The server answered with an error; the text is its words."""


def packets(content: bytes) -> Iterator[bytes]:
    """A write request and the blocks of a file, the last of which is a short one."""
    yield b"\0\2image.bin\0octet\0"
    for number in range(len(content) // BLOCK + 1):
        block = content[number * BLOCK : (number + 1) * BLOCK]
        yield b"\0\3" + (number + 1).to_bytes(2, "big") + block


def send(
    port: int, content: bytes, *, stop_before: int | None = None, host: str = "127.0.0.1"
) -> None:
    """Send a file; `stop_before` leaves off before the packet of that number."""
    with socket.socket(type=socket.SOCK_DGRAM) as line:
        line.settimeout(PATIENCE_S)
        line.connect((host, port))
        for number, packet in enumerate(packets(content)):
            if number == stop_before:
                return
            line.send(packet)
            answer = line.recv(600)
            if answer[:2] == b"\0\5":
                raise TftpRefused(answer[4:-1].decode())
            assert answer == b"\0\4" + number.to_bytes(2, "big")
