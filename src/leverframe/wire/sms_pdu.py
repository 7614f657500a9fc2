"""SMS as a modem takes and gives them: PDUs in hexadecimal digits (3GPP TS 23.040).

`submits` writes a text as one or more PDUs to send: GSM-7 where its letters allow that, else UCS2;
a long text in parts that the telephone joins again. `delivered` reads a PDU that was received. The
alphabet is in `gsm7.py`.
"""

from collections.abc import Iterator

from msgspec import Struct

from leverframe.wire.gsm7 import pack, septets_of, text_of, unpack

MAX_PARTS = 255
#: How many septets, or UTF-16 units, a message holds alone and as a part of several.
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
    """The digits are no SMS with a text."""


class Submit(Struct, frozen=True):
    """A PDU to send: its digits, and the length that `AT+CMGS` wants to know."""

    length: int
    digits: str


class Received(Struct, frozen=True):
    #: A number that can be answered, or a name that cannot.
    sender: str
    text: str
    #: What the parts of one message have in common: its number and how many they are.
    message: tuple[int, int] | None = None
    #: 1 for the first.
    part: int = 1

    @property
    def can_be_answered(self) -> bool:
        return self.sender.lstrip("+").isdigit()


def submits(number: str, text: str, reference: int) -> list[Submit]:
    """Encode a text as PDUs; `reference` (0-255) marks the parts of one message.

    Raises ValueError for a text of more parts than a message can have.
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
    # The leading 00 takes the message centre that the SIM card knows.
    return Submit(len(tpdu), "00" + tpdu.hex().upper())


def _gsm7_chunks(septets: bytes) -> Iterator[bytes]:
    """Cut septets into parts, never between an escape and the letter it belongs to."""
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
    """Decode a received PDU; raises BadPdu for anything else."""
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
    # Protocol, coding and seven bytes of time stand before the length of the text.
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
    """Return the bits of a general coding that name the alphabet; other codings differ."""
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
