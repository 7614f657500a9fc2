"""Received messages: the list that a modem gives, and parts put together to whole texts.

Parts may come in any order, and some never come: only the newest few unfinished messages are kept.
"""

import re
from collections.abc import Iterator, Sequence

from leverframe.wire.sms_pdu import BadPdu, Received, decode_delivery

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
        """Return the whole message that this PDU is or completes; None also for what is no text."""
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
