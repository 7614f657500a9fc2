"""TFTP (RFC 1350, options of RFC 2347-2349) as needed by a bootloader: only receiving a file.

`Receiver` implements the protocol without a socket: it gets a datagram with its sender and the
time, and returns an answer and, at the end, the file. Only one port is used, so it also works
through address translation. Each block is acknowledged once, and again if it is repeated. The last
block is acknowledged only after the file has been accepted, so that a client can rely on the final
acknowledgement.
"""

from collections.abc import Mapping

from msgspec import Struct

READ, WRITE, DATA, ACKNOWLEDGE, ERROR, OPTIONS = range(1, 7)
#: Error codes of the protocol.
UNDEFINED, ACCESS, FULL, ILLEGAL, UNKNOWN_SENDER = 0, 2, 3, 4, 5
BLOCK_BYTES = 512
MIN_BLOCK, MAX_BLOCK = 8, 8192
#: A transfer can be replaced after this many seconds without a datagram from its sender.
SILENCE_S = 5.0
MAX_ERROR_LETTERS = 200

Sender = tuple[str, int]


class TransferAnswer(Struct, frozen=True):
    """The answer to the sender, and the file if it is complete."""

    packet: bytes | None = None
    file: bytes | None = None
    #: No file is accepted; the answer gives the reason.
    is_refused: bool = False


NOTHING = TransferAnswer()


def error_packet(code: int, text: str) -> bytes:
    letters = text[:MAX_ERROR_LETTERS].encode("ascii", "replace").replace(b"\0", b"?")
    return _word(ERROR) + _word(code) + letters + b"\0"


def acknowledgement(block: int) -> bytes:
    return _word(ACKNOWLEDGE) + _word(block % 0x10000)


class Receiver:
    def __init__(self, max_bytes: int, refusal: str | None = None) -> None:
        """Accept one file; if there is a `refusal`, answer every attempt with it."""
        self._most_bytes = max_bytes
        self._refusal = refusal
        self._sender: Sender | None = None
        self._heard_at = 0.0
        self._block_bytes = BLOCK_BYTES
        self._data = bytearray()
        #: The number of received blocks; transmitted block numbers wrap around at 65536.
        self._blocks = 0
        #: The complete file has arrived, but it is not known yet whether it is accepted.
        self._is_judged = False
        #: The last answer to the sender.
        self._last = b""
        self._is_over = False
        self._is_shut = False

    @property
    def is_receiving(self) -> bool:
        return self._sender is not None and not self._is_over

    def datagram(self, packet: bytes, sender: Sender, now: float) -> TransferAnswer:
        kind = int.from_bytes(packet[:2], "big")
        if kind == WRITE:
            return self._begin(packet[2:], sender, now)
        if kind == READ:
            return _refuse(ACCESS, "Reading is not supported; write a firmware image.")
        if sender != self._sender:
            return (
                NOTHING if kind == ERROR else _refuse(UNKNOWN_SENDER, "No transfer is in progress.")
            )
        self._heard_at = now
        if kind == DATA and len(packet) >= 4:
            return self._take(int.from_bytes(packet[2:4], "big"), packet[4:])
        if kind == ERROR:
            self._give_up()
            return NOTHING
        self._give_up()
        return _refuse(ILLEGAL, "Only data packets can follow a write request.")

    def finish(self, refusal: str | None) -> bytes:
        """Send the result to the sender: accepted, or the refusal."""
        self._is_over, self._is_judged = True, False
        self._data = bytearray()
        self._last = acknowledgement(self._blocks) if refusal is None else error_packet(0, refusal)
        return self._last

    def shut(self) -> None:
        """Drop an incomplete file and accept no further file; only repeat a lost last answer."""
        self._is_shut = True
        self._data = bytearray()

    def _begin(self, request: bytes, sender: Sender, now: float) -> TransferAnswer:
        if self._is_shut:
            return _refuse(ACCESS, self._refusal or "The bootloader has ended.")
        if self._refusal is not None:
            return TransferAnswer(error_packet(ACCESS, self._refusal), is_refused=True)
        if self.is_receiving and sender == self._sender and not self._blocks:
            # The first answer was lost, so repeat it.
            return TransferAnswer(self._last)
        is_busy = self._is_judged or (self.is_receiving and now - self._heard_at < SILENCE_S)
        if is_busy and sender != self._sender:
            return _refuse(UNDEFINED, "Another transfer is under way.")
        _, mode, options = _request(request)
        if mode != "octet":
            return _refuse(ILLEGAL, "Send the image in binary (octet) mode.")
        return self._accept(options, sender, now)

    def _accept(self, options: Mapping[str, str], sender: Sender, now: float) -> TransferAnswer:
        agreed: dict[str, str] = {}
        size, block = _number(options.get("tsize")), _number(options.get("blksize"))
        if size is not None:
            if size > self._most_bytes:
                return _refuse(FULL, f"An image has at most {self._most_bytes} bytes.")
            agreed["tsize"] = str(size)
        if block is not None and block >= MIN_BLOCK:
            block = min(block, MAX_BLOCK)
            agreed["blksize"] = str(block)
        else:
            block = BLOCK_BYTES
        self._sender, self._heard_at, self._block_bytes = sender, now, block
        self._data, self._blocks = bytearray(), 0
        self._is_over = self._is_judged = False
        texts = (text for option in agreed.items() for text in option)
        listed = b"".join(text.encode() + b"\0" for text in texts)
        self._last = _word(OPTIONS) + listed if agreed else acknowledgement(0)
        return TransferAnswer(self._last)

    def _give_up(self) -> None:
        """Discard the transfer and its result."""
        self._sender = None
        self._data = bytearray()

    def _take(self, block: int, data: bytes) -> TransferAnswer:
        if block == self._blocks % 0x10000 and self._blocks:
            return NOTHING if self._is_judged else TransferAnswer(self._last)
        if self._is_over or self._is_judged or block != (self._blocks + 1) % 0x10000:
            return NOTHING
        if self._is_shut:
            self._give_up()
            return _refuse(ACCESS, "The bootloader has ended.")
        if len(data) > self._block_bytes:
            self._give_up()
            return _refuse(ILLEGAL, f"A block has at most {self._block_bytes} bytes.")
        if len(self._data) + len(data) > self._most_bytes:
            self._give_up()
            return _refuse(FULL, f"An image has at most {self._most_bytes} bytes.")
        self._blocks += 1
        self._data += data
        if len(data) < self._block_bytes:
            self._is_judged = True
            return TransferAnswer(file=bytes(self._data))
        self._last = acknowledgement(self._blocks)
        return TransferAnswer(self._last)


def is_write_request(packet: bytes) -> bool:
    return int.from_bytes(packet[:2], "big") == WRITE


def _refuse(code: int, text: str) -> TransferAnswer:
    return TransferAnswer(error_packet(code, text))


def _request(request: bytes) -> tuple[str, str, dict[str, str]]:
    """Decode name, mode and options of a write request; return an empty mode if it is invalid."""
    texts = [text.decode("latin-1") for text in request.split(b"\0")[:-1]]
    if len(texts) < 2:
        return "", "", {}
    names = (name.lower() for name in texts[2::2])
    return texts[0], texts[1].lower(), dict(zip(names, texts[3::2], strict=False))


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def _word(number: int) -> bytes:
    return number.to_bytes(2, "big")
