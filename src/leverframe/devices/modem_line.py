"""The dialogue with a GSM modem over an open port, and the status of the modem."""

import asyncio
import re
from collections.abc import Callable

from msgspec import Struct, structs

from leverframe.core.engine.calls import SendModem
from leverframe.devices.serial_module import SerialReader, SerialWriter
from leverframe.devices.wire.gsm import (
    CANCEL,
    AtAnswer,
    AtDialogue,
    Prompt,
    Restarted,
    Submit,
    Unasked,
)

# The dialogue with a GSM modem over an open port: a command is sent, and its answer is returned.
#
# `devices/wire/gsm.py` parses the lines. This module handles waiting, time limits and failures: the
# modem rejects a command, does not answer, or restarts. An answer that arrives after its time limit
# is dropped, because `synchronise` waits for it before the next command.

_READ_BYTES = 4096
_ATTENTION = "AT"


class ModemRefused(Exception):
    """The modem answered a command with an error; the message is one sentence."""


class ModemSilent(Exception):
    """The modem did not answer in time."""


class ModemRestarted(Exception):
    """The modem has restarted and must be set up again."""


class CommandPace(Struct, frozen=True):
    """The time limits of a modem's commands, in seconds."""

    #: The limit for ordinary answers; answers from the network take longer.
    answer_s: float = 10.0
    network_s: float = 65.0
    #: The pause between two attempts to get any answer, and the number of attempts.
    attention_s: float = 1.0
    attempts: int = 10
    #: The duration of silence after which an earlier dialogue has ended.
    settle_s: float = 0.3
    #: The pause between two reads of signal and registration, and the shorter pause after a
    #: failure.
    look_s: float = 60.0
    retry_s: float = 10.0


class ModemLine:
    def __init__(
        self,
        writer: SerialWriter,
        pace: CommandPace,
        unasked: Callable[[str], None],
        on_restart: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._pace = pace
        self._unasked = unasked
        self._on_restart = on_restart
        self._dialogue = AtDialogue()
        self._reply: asyncio.Future[AtAnswer | Prompt] | None = None
        #: True if the modem must be set up again; until then no other command is sent.
        self.restarted = False

    async def listen(self, reader: SerialReader) -> None:
        """Process the modem's output until the port ends."""
        while data := await reader.read(_READ_BYTES):
            for reply in self._dialogue.feed(data):
                match reply:
                    case Unasked(line):
                        self._unasked(line)
                    case Restarted():
                        self.restarted = True
                        self._hear(ModemRestarted())
                        self._on_restart()
                    case _:
                        self._hear(reply)

    async def synchronise(self) -> None:
        """Make the modem respond to commands, then wait until the line is quiet."""
        self.restarted = False
        # If the modem still waits for the text of a message, this cancels the message.
        self._writer.write(CANCEL)
        for attempt in range(1, self._pace.attempts + 1):
            try:
                await self._answer_to(self._dialogue.ask(_ATTENTION), self._pace.attention_s)
                break
            except ModemSilent:
                if attempt == self._pace.attempts:
                    raise
        await asyncio.sleep(self._pace.settle_s)

    async def ask(self, command: str) -> AtAnswer:
        """Send a command and return its answer, even if it is an error."""
        reply = await self._answer_to(self._dialogue.ask(command), self._limit_s(command))
        if isinstance(reply, AtAnswer):
            return reply
        self._writer.write(CANCEL)
        self._dialogue.forget()
        await asyncio.sleep(self._pace.settle_s)
        raise ModemRefused(f"the modem requests a text after {_name(command)}, but there is none")

    async def order(self, command: str) -> AtAnswer:
        """Send a command and return its answer; raise `ModemRefused` if it is an error."""
        answer = await self.ask(command)
        if not answer.good:
            raise ModemRefused(f"the modem refuses {_name(command)}: {answer.result}")
        return answer

    async def send(self, message: Submit) -> None:
        """Send one message to the network."""
        command = self._dialogue.ask(f"AT+CMGS={message.length}")
        reply = await self._answer_to(command, self._pace.answer_s)
        if isinstance(reply, Prompt):
            text = self._dialogue.text(message.digits)
            reply = await self._answer_to(text, self._pace.network_s)
        if not (isinstance(reply, AtAnswer) and reply.good):
            result = reply.result if isinstance(reply, AtAnswer) else "it requests the text again"
            raise ModemRefused(f"the modem does not send the SMS: {result}")

    async def _answer_to(self, data: bytes, limit_s: float) -> AtAnswer | Prompt:
        if self.restarted:
            raise ModemRestarted
        self._reply = asyncio.get_running_loop().create_future()
        self._writer.write(data)
        try:
            async with asyncio.timeout(limit_s):
                return await self._reply
        except TimeoutError:
            self._dialogue.forget()
            raise ModemSilent from None

    def _hear(self, event: AtAnswer | Prompt | ModemRestarted) -> None:
        if self._reply is None or self._reply.done():
            return
        if isinstance(event, ModemRestarted):
            self._reply.set_exception(event)
        else:
            self._reply.set_result(event)

    def _limit_s(self, command: str) -> float:
        slow = ("AT+COPS", "AT+CIP", "AT+CGATT", "AT+CUSD", "AT+SAPBR", "AT+CFUN", "ATD")
        return self._pace.network_s if command.upper().startswith(slow) else self._pace.answer_s


def _name(command: str) -> str:
    """Return a command without its value, which may be a secret."""
    return command.partition("=")[0]


# The status of the GSM modem: SIM card, signal, network, and the last command of a user.
#
# An unexpected answer leaves a value unknown; it is never an error.

_READY = "READY"
_HINTS = {
    "SIM PIN": " Enter the PIN with the command gsmcmd=AT%2BCPIN=1234.",
    "SIM PUK": ' Enter PUK and a new PIN with the command gsmcmd=AT%2BCPIN="PUK","PIN".',
}
_REGISTRATIONS = {
    0: "not registered",
    1: "home",
    2: "searching",
    3: "denied",
    4: "unknown",
    5: "roaming",
}
_REGISTERED = ("home", "roaming")
#: The modem reports 99 for unknown.
_MAX_SIGNAL = 31
_KEPT_UNASKED = 20
#: Commands with secret values.
_SECRET = r"(AT\+(?:CPIN|CPWD|CLCK|CSTT|SAPBR)=).*"


def mask_command(command: str) -> str:
    """Return a user's command without its PIN or password."""
    return re.sub(_SECRET, r"\1***", command, flags=re.IGNORECASE)


class ModemState(Struct, frozen=True):
    """The status of the modem for all accounts that may read the state."""

    state: str
    sim: str | None
    registration: str | None
    operator: str | None
    signal_dbm: int | None
    apn: str | None


class ModemReport(ModemState, frozen=True):
    """The status of the modem for the administrator, with dialogue and unsolicited lines."""

    command: str | None
    answer: tuple[str, ...] | None
    unasked: list[str]


class ModemStatus:
    def __init__(self) -> None:
        self.state = "not connected"
        self.apn: str | None = None
        self.sim: str | None = None
        self.registration: str | None = None
        self.operator: str | None = None
        self.signal_dbm: int | None = None
        self._command: str | None = None
        self._answer: tuple[str, ...] | None = None
        self._unasked: list[str] = []

    @property
    def sim_ready(self) -> bool:
        return self.sim == _READY

    @property
    def sim_hint(self) -> str:
        return _HINTS.get(self.sim or "", "")

    @property
    def registered(self) -> bool:
        return self.registration in _REGISTERED

    def reset(self, state: str) -> None:
        """Reset all values to unknown."""
        self.state = state
        self.apn = self.sim = self.registration = self.operator = self.signal_dbm = None

    def took_sim(self, answer: AtAnswer) -> None:
        self.sim = answer.after("+CPIN:") or answer.result.partition(":")[2].strip() or "unknown"

    def took_signal(self, answer: AtAnswer) -> None:
        """Record the signal: 0 to 31 stand for -113 dBm to -51 dBm in steps of two."""
        strength = _number(answer.after("+CSQ:"), 0)
        if strength is None or strength > _MAX_SIGNAL:
            self.signal_dbm = None
        else:
            self.signal_dbm = -113 + 2 * strength

    def took_registration(self, answer: AtAnswer) -> None:
        code = _number(answer.after("+CREG:"), 1)
        self.registration = _REGISTRATIONS.get(code, "unknown") if code is not None else "unknown"

    def took_operator(self, answer: AtAnswer) -> None:
        found = re.search(r'"([^"]*)"', answer.after("+COPS:") or "")
        self.operator = found[1] if found else None

    def note_command(self, command: str) -> None:
        self._command, self._answer = mask_command(command), None

    def note_answer(self, lines: tuple[str, ...]) -> None:
        self._answer = lines

    def note_unasked(self, line: str) -> None:
        self._unasked = [*self._unasked, line][-_KEPT_UNASKED:]

    def report(self) -> ModemState:
        return ModemState(
            self.state, self.sim, self.registration, self.operator, self.signal_dbm, self.apn
        )

    def full_report(self) -> ModemReport:
        return ModemReport(
            **structs.asdict(self.report()),
            command=self._command,
            answer=self._answer,
            unasked=self._unasked,
        )


def _number(fields: str | None, place: int) -> int | None:
    parts = (fields or "").split(",")
    text = parts[place].strip() if place < len(parts) else ""
    return int(text) if re.fullmatch("[0-9]{1,3}", text) else None


# The substitute for the GSM modem if no serial port is configured: it rejects all requests.
#
# Most controllers have no port, and therefore do not load the code of the modem.

NOT_CONNECTED = "No GSM modem is connected."


class ModemUnavailable(Exception):
    """The modem cannot perform a request now; the message is one sentence with the reason."""


class AbsentModem:
    def __init__(self) -> None:
        self.status = ModemStatus()

    async def send_sms(self, number: str, text: str) -> None:
        raise ModemUnavailable(NOT_CONNECTED)

    def command(self, effect: SendModem) -> None:
        self.status.note_command(effect.command)
        self.status.note_answer((NOT_CONNECTED,))
