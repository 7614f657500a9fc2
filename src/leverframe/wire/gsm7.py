"""The 7-bit alphabet of SMS: letters to septets and back, and septets packed into bytes.

The tables are those of 3GPP TS 23.038: 128 letters, and a second table that is reached by an
escape, so that its letters take two septets.
"""

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
    """Decode septets; an unknown letter behind an escape is read without it."""
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
    """Pack septets behind a header; return the bytes and the number of septets in all."""
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
