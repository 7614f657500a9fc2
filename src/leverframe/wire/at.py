"""The AT dialogue with a GSM modem: bytes become answers, prompts and unsolicited lines.

One command is outstanding at a time. Its answer is every line up to a final result (`OK`, `ERROR`,
`+CME ERROR: ...`); some lines come unasked even in between. A modem that starts says so (`RDY`), or
is found out because it echoes commands again after echo was switched off: both are `Restarted`.
"""

import re

from msgspec import Struct

#: Switches the echo off; until then, and after a restart, a modem repeats what it receives.
ECHO_OFF = "ATE0"
CANCEL = b"\x1b"
_SEND = b"\x1a"
#: Longer than any line of a modem; more is noise.
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
#: Sent unsolicited at the start, unless a command of that name is outstanding.
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
        """Return what stands behind a prefix such as `+CSQ:`, in the first line that has it."""
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
        """Make a command the outstanding one; return the bytes for the modem."""
        self._command = command.strip()
        self._lines = []
        return command.encode("ascii", "replace") + b"\r"

    def text(self, text: str) -> bytes:
        """Encode the text that follows the modem's prompt; the command stays outstanding."""
        return text.encode("ascii", "replace") + _SEND

    def forget(self) -> None:
        """Stop waiting for an answer; one that comes late is unasked."""
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
    """Decode text without what is not ASCII: a modem that starts can send anything."""
    return line.decode("ascii", "ignore").strip("\0 ")
