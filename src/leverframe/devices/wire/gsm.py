"""The dialogue with a GSM modem as bytes: AT commands, and SMS as PDUs."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

# The AT dialogue with a GSM modem: bytes are converted to answers, prompts and unsolicited lines.
#
# One command is outstanding at a time. Its answer consists of all lines up to a final result (`OK`,
# `ERROR`, `+CME ERROR: ...`), except unsolicited lines in between. A modem that has restarted sends
# `RDY`, or echoes commands although its echo was switched off; both are reported as `Restarted`.

#: Switches the echo off; before this command, and after a restart, a modem repeats its input.
ECHO_OFF = "ATE0"
CANCEL = b"\x1b"
_SEND = b"\x1a"
#: The maximum length of a line; longer lines are noise.
_MAX_PENDING = 4096
_LINE_ENDS = re.compile(rb"[\r\n]")
_PROMPT = b"> "

_GOOD = ("OK", "SHUT OK", "CONNECT")
_BAD = ("ERROR", "NO CARRIER", "BUSY", "NO ANSWER", "NO DIALTONE")
_BAD_WITH_REASON = ("+CME ERROR:", "+CMS ERROR:")
_ALWAYS_UNASKED = (
    *("+CMTI:", "+CLIP:", "+CUSD:", "RING"),
    *("Call Ready", "SMS Ready", "UNDER-VOLTAGE", "OVER-VOLTAGE"),
)
#: Beginnings of lines that are unsolicited unless a command with that name is outstanding.
_UNASKED_UNLESS_ASKED = ("+CPIN:", "+CFUN:")
_STARTED = "RDY"
_STOPPED = "POWER DOWN"


class AtAnswer(Struct, frozen=True):
    lines: tuple[str, ...]
    result: str

    @property
    def good(self) -> bool:
        return self.result in _GOOD

    def after(self, prefix: str) -> str | None:
        """Return the text after a prefix such as `+CSQ:` in the first line that has it."""
        for line in self.lines:
            if line.startswith(prefix):
                return line.removeprefix(prefix).strip()
        return None


class Prompt(Struct, frozen=True):
    """The modem waits for the text of a message."""


class Unasked(Struct, frozen=True):
    line: str


class Restarted(Struct, frozen=True):
    """The modem has lost its setup; the outstanding command gets no answer."""


Heard = AtAnswer | Prompt | Unasked | Restarted


class AtDialogue:
    def __init__(self) -> None:
        self._pending = b""
        self._command: str | None = None
        self._lines: list[str] = []
        self._echo = True

    def ask(self, command: str) -> bytes:
        """Start a command that waits for its answer; return the bytes for the modem."""
        self._command = command.strip()
        self._lines = []
        return command.encode("ascii", "replace") + b"\r"

    def text(self, text: str) -> bytes:
        """Encode the text that follows the modem's prompt; the command keeps waiting."""
        return text.encode("ascii", "replace") + _SEND

    def forget(self) -> None:
        """Stop waiting for an answer; a late answer counts as unsolicited."""
        self._command = None

    def feed(self, data: bytes) -> list[Heard]:
        *lines, self._pending = _LINE_ENDS.split(self._pending + data)
        events = [item for line in lines if (item := self._hear(_words(line))) is not None]
        if self._pending == _PROMPT and self._command is not None:
            self._pending = b""
            events.append(Prompt())
        if len(self._pending) > _MAX_PENDING:
            self._pending = b""
        return events

    def _hear(self, line: str) -> Heard | None:
        if not line:
            return None
        if line == _STARTED or line.endswith(_STOPPED):
            return self._reset()
        if line == self._command:
            return None if self._echo else self._reset()
        if self._command is None or self._is_unasked(line):
            return Unasked(line)
        if line in _GOOD or line in _BAD or line.startswith(_BAD_WITH_REASON):
            return self._finish(line)
        self._lines.append(line)
        return None

    def _is_unasked(self, line: str) -> bool:
        if line.startswith(_ALWAYS_UNASKED):
            return True
        name = line.partition(":")[0]
        return line.startswith(_UNASKED_UNLESS_ASKED) and name not in (self._command or "")

    def _finish(self, result: str) -> AtAnswer:
        answer = AtAnswer(tuple(self._lines), result)
        if self._command == ECHO_OFF and answer.good:
            self._echo = False
        self._command = None
        return answer

    def _reset(self) -> Restarted:
        self._command = None
        self._echo = True
        return Restarted()


def _words(line: bytes) -> str:
    """Decode text without all non-ASCII bytes, because a starting modem can send any bytes."""
    return line.decode("ascii", "ignore").strip("\0 ")


# The 7-bit alphabet of SMS: letters to septets and back, and septets packed into bytes.
#
# The tables are those of 3GPP TS 23.038: 128 letters, and a second table of letters that need an
# escape and therefore two septets.

_LETTERS = (
    "@£$¥èéùìòÇ\nØø\rÅå"
    "Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ"
    " !\"#¤%&'()*+,-./"
    "0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNO"
    "PQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmno"
    "pqrstuvwxyzäöñüà"
)
_ESCAPE = 0x1B
_ESCAPED = {
    "\f": 0x0A,
    "^": 0x14,
    "{": 0x28,
    "}": 0x29,
    "\\": 0x2F,
    "[": 0x3C,
    "~": 0x3D,
    "]": 0x3E,
    "|": 0x40,
    "€": 0x65,
}
_SEPTETS = {
    **{letter: bytes((code,)) for code, letter in enumerate(_LETTERS) if code != _ESCAPE},
    **{letter: bytes((_ESCAPE, code)) for letter, code in _ESCAPED.items()},
}
_LETTER_BEHIND_ESCAPE = {code: letter for letter, code in _ESCAPED.items()}


def septets_of(text: str) -> bytes | None:
    """Encode one byte per septet; None if the alphabet lacks a letter."""
    try:
        return b"".join(_SEPTETS[letter] for letter in text)
    except KeyError:
        return None


def text_of(septets: bytes) -> str:
    """Decode septets; an unknown letter after an escape is read from the first table."""
    letters = []
    escaped = False
    for septet in septets:
        if escaped:
            letters.append(_LETTER_BEHIND_ESCAPE.get(septet, _LETTERS[septet]))
            escaped = False
        elif septet == _ESCAPE:
            escaped = True
        else:
            letters.append(_LETTERS[septet])
    return "".join(letters).replace("\x1b", " ")


def pack(septets: bytes, header: bytes) -> tuple[bytes, int]:
    """Pack septets after a header; return the bytes and the total number of septets."""
    places = -(-len(header) * 8 // 7)
    bits = int.from_bytes(header, "little")
    for index, septet in enumerate(septets, start=places):
        bits |= septet << 7 * index
    count = places + len(septets)
    return bits.to_bytes(-(-count * 7 // 8), "little"), count


def unpack(data: bytes, count: int) -> bytes:
    """Unpack up to this number of septets of the data."""
    bits = int.from_bytes(data, "little")
    return bytes(bits >> 7 * index & 0x7F for index in range(min(count, len(data) * 8 // 7)))


# SMS in the form that a modem accepts and returns: PDUs in hexadecimal digits (3GPP TS 23.040).
#
# `submits` encodes a text as one or more PDUs to send: in GSM-7 if that alphabet has all
# letters of the text, else in UCS2. The telephone joins the parts of a long text. `delivered`
# decodes a received PDU. The alphabet is in `gsm7.py`.

MAX_PARTS = 255
#: The number of septets, or UTF-16 units, in a single message and in a part of several.
GSM7_ALONE, GSM7_PART = 160, 153
UCS2_ALONE, UCS2_PART = 70, 67

_DCS_GSM7, _DCS_UCS2 = 0x00, 0x08
_SUBMIT, _HEADER_FLAG = 0x01, 0x40
_MESSAGE_TYPE = 0x03
_DELIVER = 0x00
_INTERNATIONAL, _NATIONAL = 0x91, 0x81
_ALPHANUMERIC = 0x50
_NUMBER_KIND = 0x70
_JOIN_8, _JOIN_16 = 0x00, 0x08
#: The digits of semi-octets; F fills up an odd number.
_DIGITS = "0123456789*#abc"


class BadPdu(ValueError):
    """The digits do not encode an SMS with a text."""


class Submit(Struct, frozen=True):
    """A PDU to send: its digits, and the length that `AT+CMGS` requires."""

    length: int
    digits: str


class Received(Struct, frozen=True):
    #: A telephone number, or a name, to which no answer can be sent.
    sender: str
    text: str
    #: The number of the message and the number of its parts, which are the same in all parts.
    message: tuple[int, int] | None = None
    #: The position of this part, from 1.
    part: int = 1

    @property
    def can_be_answered(self) -> bool:
        return self.sender.lstrip("+").isdigit()


def submits(number: str, text: str, reference: int) -> list[Submit]:
    """Encode a text as PDUs; `reference` (0-255) marks the parts of one message.

    Raise ValueError if the text needs more parts than a message can have.
    """
    septets = septets_of(text)
    if septets is None:
        units = text.encode("utf-16-be", "replace")
        chunks = [units] if len(units) <= 2 * UCS2_ALONE else list(_ucs2_chunks(units))
    else:
        chunks = [septets] if len(septets) <= GSM7_ALONE else list(_gsm7_chunks(septets))
    if len(chunks) > MAX_PARTS:
        raise ValueError(
            f"The text needs {len(chunks)} messages; at most {MAX_PARTS} can be joined."
        )
    headers = [b""]
    if len(chunks) > 1:
        headers = [
            bytes((5, _JOIN_8, 3, reference & 0xFF, len(chunks), part))
            for part in range(1, len(chunks) + 1)
        ]
    dcs = _DCS_UCS2 if septets is None else _DCS_GSM7
    return [
        _submit(number, dcs, header, chunk) for header, chunk in zip(headers, chunks, strict=True)
    ]


def _submit(number: str, dcs: int, header: bytes, chunk: bytes) -> Submit:
    if dcs == _DCS_UCS2:
        data = header + chunk
        length = len(data)
    else:
        data, length = pack(chunk, header)
    tpdu = bytes((_SUBMIT | (_HEADER_FLAG if header else 0), 0)) + _address(number)
    tpdu += bytes((0, dcs, length)) + data
    # The leading 00 selects the message centre that is stored on the SIM card.
    return Submit(len(tpdu), "00" + tpdu.hex().upper())


def _gsm7_chunks(septets: bytes) -> Iterator[bytes]:
    """Cut septets into parts, never between an escape and its letter."""
    start = 0
    while start < len(septets):
        end = min(start + GSM7_PART, len(septets))
        if end < len(septets) and septets[end - 1] == 0x1B:
            end -= 1
        yield septets[start:end]
        start = end


def _ucs2_chunks(units: bytes) -> Iterator[bytes]:
    """Cut units into parts, never between the two halves of a surrogate pair."""
    start = 0
    while start < len(units):
        end = min(start + 2 * UCS2_PART, len(units))
        if end < len(units) and 0xD8 <= units[end - 2] <= 0xDB:
            end -= 2
        yield units[start:end]
        start = end


def _address(number: str) -> bytes:
    digits = number.removeprefix("+")
    kind = _INTERNATIONAL if number.startswith("+") else _NATIONAL
    halves = [_DIGITS.index(digit) for digit in digits] + [0xF] * (len(digits) % 2)
    pairs = zip(halves[::2], halves[1::2], strict=True)
    return bytes((len(digits), kind, *(low | high << 4 for low, high in pairs)))


def decode_delivery(digits: str) -> Received:
    """Decode a received PDU; raise BadPdu for anything else."""
    try:
        return _decode(bytes.fromhex(digits))
    except (ValueError, IndexError) as error:
        raise BadPdu(f"this SMS cannot be read: {error}") from None


def _decode(pdu: bytes) -> Received:
    at = 1 + pdu[0]
    flags = pdu[at]
    if flags & _MESSAGE_TYPE != _DELIVER:
        raise BadPdu("it was not received but sent, or is a report")
    sender, at = _sender(pdu, at + 1)
    dcs = pdu[at + 1]
    # Protocol, coding and seven bytes of time precede the length of the text.
    length, data = pdu[at + 9], pdu[at + 10 :]
    header = data[: data[0] + 1] if flags & _HEADER_FLAG else b""
    text = _text(dcs, length, data, header)
    message, part = _place(header)
    return Received(sender, text, message, part)


def _sender(pdu: bytes, at: int) -> tuple[str, int]:
    count, kind = pdu[at], pdu[at + 1]
    end = at + 2 + (count + 1) // 2
    field = pdu[at + 2 : end]
    if kind & _NUMBER_KIND == _ALPHANUMERIC:
        return text_of(unpack(field, count * 4 // 7)), end
    halves = [half for byte in field for half in (byte & 0xF, byte >> 4)][:count]
    digits = "".join(_DIGITS[half] for half in halves)
    return ("+" if kind & _NUMBER_KIND == _INTERNATIONAL & _NUMBER_KIND else "") + digits, end


def _text(dcs: int, length: int, data: bytes, header: bytes) -> str:
    alphabet = _alphabet(dcs)
    if alphabet == _DCS_GSM7:
        skipped = -(-len(header) * 8 // 7)
        return text_of(unpack(data, length)[skipped:])
    if alphabet == _DCS_UCS2:
        return data[len(header) : length].decode("utf-16-be", "replace")
    raise BadPdu("it contains data instead of text")


def _alphabet(dcs: int) -> int:
    """Return the alphabet bits of a general coding; other codings have different bits."""
    if dcs >> 6 in (0, 1) and not dcs & 0x20:
        return dcs & 0x0C
    if dcs >> 4 in (0xC, 0xD):
        return _DCS_GSM7
    if dcs >> 4 == 0xE:
        return _DCS_UCS2
    if dcs >> 4 == 0xF and not dcs & 0x04:
        return _DCS_GSM7
    raise BadPdu("its characters are compressed or unknown")


def _place(header: bytes) -> tuple[tuple[int, int] | None, int]:
    """Return the message that a part belongs to, and its place in it."""
    at = 1
    while at + 1 < len(header):
        element, length = header[at], header[at + 1]
        value = header[at + 2 : at + 2 + length]
        if (element, length) in ((_JOIN_8, 3), (_JOIN_16, 4)) and len(value) == length:
            *reference, total, part = value
            if 1 <= part <= total:
                return (int.from_bytes(bytes(reference), "big"), total), part
        at += 2 + length
    return None, 1


# Received messages: parsing the modem's list, and joining parts to complete texts.
#
# Parts can arrive in any order, and some never arrive, so only the newest few incomplete messages
# are stored.

MAX_UNFINISHED = 8
_STORED = re.compile(r"\+CMGL: ?(\d+),")

_Key = tuple[str, tuple[int, int]]


def list_stored_messages(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """List index and PDU of each message in the answer to `AT+CMGL`."""
    for head, digits in zip(lines, lines[1:], strict=False):
        if found := _STORED.match(head):
            yield int(found[1]), digits


class Inbox:
    def __init__(self) -> None:
        self._unfinished: dict[_Key, dict[int, Received]] = {}

    def take(self, digits: str) -> Received | None:
        """Return the message that this PDU completes; None if parts or the text are missing."""
        try:
            received = decode_delivery(digits)
        except BadPdu:
            return None
        if received.message is None:
            return received
        key = (received.sender, received.message)
        parts = self._unfinished.pop(key, {})
        parts[received.part] = received
        total = received.message[1]
        if len(parts) < total:
            self._unfinished[key] = parts
            self._drop_oldest()
            return None
        text = "".join(parts[part].text for part in range(1, total + 1))
        return Received(received.sender, text)

    def _drop_oldest(self) -> None:
        while len(self._unfinished) > MAX_UNFINISHED:
            del self._unfinished[next(iter(self._unfinished))]
