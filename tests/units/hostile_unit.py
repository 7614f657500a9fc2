"""A hostile unit: it answers on loopback with the bytes that a test chooses.

It runs in a thread, so that a whole command can be tried against it, and keeps what it was sent.
"""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"
#: Each acts on a terminal, or turns the text around it: C0, DEL, C1, bidi marks, separators.
ACTING = (
    "\x00\x07\x08\t\n\x0b\x0c\r\x1b\x7f\x84\x85\x9b\x9d"
    "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\U000e0001"
)
#: Clears the screen, sets the title, writes a line of its own.
ATTACK = f"\x1b[2J\x1b]0;owned\x07\x9b31m\nleverframe: all is well{ACTING}"

#: The head of a request -> the pieces of an answer, as bytes of the wire.
Answerer = Callable[[bytes], Iterable[bytes]]


def plain_answer(body: bytes, kind: str = "application/json", status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


SIGN_IN = (
    b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm="unit"\r\n'
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)


def path_of(head: bytes) -> str:
    return head.split(b" ", 2)[1].decode()


class HostileUnit:
    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self._listening = socket.create_server((HOST, 0))
        #: The heads of all requests.
        self.heads: list[bytes] = []
        self.url = f"http://{HOST}:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def has_seen_login(self) -> bool:
        return any(b"authorization" in head.lower() for head in self.heads)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                part = client.recv(65536)
                if not part:
                    return
                head += part
            self.heads.append(head)
            try:
                for piece in self._answer(head):
                    client.sendall(piece)
            except OSError:
                # The client has had enough, as it should.
                return


@contextmanager
def hostile_unit(answer: Answerer) -> Iterator[HostileUnit]:
    unit = HostileUnit(answer)
    unit.start()
    try:
        yield unit
    finally:
        unit.stop()
