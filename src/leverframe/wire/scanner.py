"""A bar or QR code scanner: every code is a line of text, at 9600 bit/s.

Scanners end a code with CR, LF or both, and some put control characters around it: those are left
out. Letters are UTF-8, or else Latin-1. A line that is longer than any code a person would use for
switching is noise.
"""

import re

from leverframe.wire.serial_decoder import Found

BITRATE = 9600
LABELS = ("barcode",)
MAX_BYTES = 1024
_LINE_ENDS = re.compile(rb"[\r\n]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ScannerDecoder:
    def __init__(self) -> None:
        self._pending = b""
        #: The line that is arriving is too long; wait for its end.
        self._skipping = False

    def feed(self, data: bytes) -> list[Found]:
        *lines, self._pending = _LINE_ENDS.split(self._pending + data)
        if lines and self._skipping:
            del lines[0]
            self._skipping = False
        if len(self._pending) > MAX_BYTES:
            self._pending, self._skipping = b"", True
        codes = (_code(line) for line in lines if len(line) <= MAX_BYTES)
        return [{"barcode": code} for code in codes if code]


def _code(line: bytes) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("latin-1")
    return _CONTROL.sub("", text).strip()
