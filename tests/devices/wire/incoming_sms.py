"""Received SMS for tests: how the network delivers a message of another phone."""

from leverframe.devices.wire.gsm import Submit, submits

#: 14 November 2026, 12:34:56, one hour east of Greenwich.
SENT_AT = bytes.fromhex("62 11 41 21 43 65 40")
#: A message centre: +48501200777.
CENTRE = bytes.fromhex("07 91 84 05 21 00 77 F7")


def incoming(sender: str, text: str, reference: int = 7) -> list[str]:
    """The PDUs that the SIM card of the recipient gets."""
    return [_as_received(message) for message in submits(sender, text, reference)]


def _as_received(message: Submit) -> str:
    """The address that a message was sent to becomes the one it comes from."""
    tpdu = bytes.fromhex(message.digits)[1:]
    flags, end = tpdu[0], 4 + (tpdu[2] + 1) // 2
    address, coding, data = tpdu[2:end], tpdu[end : end + 2], tpdu[end + 2 :]
    # No more messages wait; a header where there was one.
    received = bytes((0x04 | flags & 0x40,)) + address + coding + SENT_AT + data
    return (CENTRE + received).hex().upper()
