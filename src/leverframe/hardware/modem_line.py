"""One conversation with a GSM modem over an open port: a command goes out, its answer comes back.

`wire/at.py` understands the lines; here are the waiting, the time limits and what can go wrong: the
modem refuses, says nothing, or has restarted. An answer that comes after its time limit is dropped:
`synchronise` waits for it before the next command.
"""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from leverframe.hardware.serial_port import SerialReader, SerialWriter
from leverframe.wire.at import CANCEL, AtAnswer, AtDialogue, Prompt, Restarted, Unasked
from leverframe.wire.sms_pdu import Submit

_READ_AT_ONCE = 4096
_ATTENTION = "AT"


class ModemRefused(Exception):
    """The modem answered a command with an error: one sentence."""


class ModemSilent(Exception):
    """No answer came in time."""


class ModemRestarted(Exception):
    """The modem has restarted and must be set up again."""


class CommandPace(Struct, frozen=True):
    """The time limits of a modem's commands, in seconds."""

    #: An ordinary answer; the network's answers take longer.
    answer_s: float = 10.0
    network_s: float = 65.0
    #: Between two attempts to get any answer, and how many there are.
    attention_s: float = 1.0
    attempts: int = 10
    #: Quiet that ends what an earlier conversation left over.
    settle_s: float = 0.3
    #: Between two looks at signal and registration, and while something is missing.
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
        #: The modem has to be set up again; no other command is sent until then.
        self.restarted = False

    async def listen(self, reader: SerialReader) -> None:
        """Process what the modem sends until the port ends."""
        while data := await reader.read(_READ_AT_ONCE):
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
        """Make the modem respond to commands, then wait until its line is quiet."""
        self.restarted = False
        # A modem that was left waiting for a text takes this as the end of it.
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
        """Send a command and return its answer, whatever it is."""
        reply = await self._answer_to(self._dialogue.ask(command), self._limit_s(command))
        if isinstance(reply, AtAnswer):
            return reply
        self._writer.write(CANCEL)
        self._dialogue.forget()
        await asyncio.sleep(self._pace.settle_s)
        raise ModemRefused(f"the modem requests a text after {_name(command)}, but there is none")

    async def order(self, command: str) -> AtAnswer:
        """Send a command and return its good answer; anything else is a refusal."""
        answer = await self.ask(command)
        if not answer.good:
            raise ModemRefused(f"the modem refuses {_name(command)}: {answer.result}")
        return answer

    async def send(self, message: Submit) -> None:
        """Hand one message to the network."""
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
    """Return a command without what it sets, which may be a secret."""
    return command.partition("=")[0]
