"""The GSM modem SIM800L: outgoing and incoming messages, users' commands, and its status.

The modem is set up whenever its port opens and whenever it has restarted, and checked once per
minute. Jobs wait in a queue. If the modem restarts while it is sending a message, sending resumes
with the first unconfirmed part. An incoming SMS is deleted before its command is performed, so that
no command is performed twice.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress

from msgspec import Struct, field

from leverframe.core.engine.calls import SendModem
from leverframe.core.settings import Gsm, Settings
from leverframe.devices.modem_line import (
    NOT_CONNECTED,
    CommandPace,
    ModemLine,
    ModemRefused,
    ModemRestarted,
    ModemSilent,
    ModemStatus,
    ModemUnavailable,
)
from leverframe.devices.readings import Troubles
from leverframe.devices.serial_module import SerialReader, SerialWriter
from leverframe.devices.wire.gsm import ECHO_OFF, Inbox, Submit, list_stored_messages, submits

log = logging.getLogger(__name__)

NAME = "GSM modem SIM800L"
PART = "GSM modem"
#: The number of attempts to send a message if the modem restarts or does not answer.
MAX_ATTEMPTS = 3
#: Commands for incoming messages: announce them, store them on the SIM card, deliver them as PDUs.
_SET_UP = ("AT+CMGF=0", "AT+CNMI=2,1,0,0,0")
_ALL_MESSAGES = "AT+CMGL=4"
_NEW_MESSAGE = "+CMTI:"
_BOOTED = "SMS Ready"

PACE = CommandPace()


class _Message(Struct):
    parts: deque[Submit]
    sent: asyncio.Future[None]
    attempts: int = 0


class _Command(Struct, frozen=True):
    text: str


class _Work(Struct):
    """A job in the queue; it survives the loss of the port."""

    jobs: deque[_Message | _Command] = field(default_factory=deque)
    new_messages: bool = False
    apn: bool = False
    look: bool = True
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Modem:
    """A session on the serial port; `on_sms` gets sender and text, and may return an answer."""

    bitrate = 9600

    def __init__(
        self,
        gsm: Callable[[], Gsm],
        on_sms: Callable[[str, str], Awaitable[str | None]],
        troubles: MutableMapping[str, str],
        pace: CommandPace = PACE,
    ) -> None:
        self._gsm = gsm
        self._on_sms = on_sms
        self._troubles = Troubles(troubles)
        self._pace = pace
        self._work = _Work()
        self._inbox = Inbox()
        self._reference = 0
        self._open = False
        self._ready = False
        self._looked_at = 0.0
        self.status = ModemStatus()

    # --- requests to the modem --------------------------------------------------------------------

    async def send_sms(self, number: str, text: str) -> None:
        """Send a message; raise ModemUnavailable if the network does not accept all parts."""
        if not self._open:
            raise ModemUnavailable(NOT_CONNECTED)
        self._reference = (self._reference + 1) & 0xFF
        sent = asyncio.get_running_loop().create_future()
        self._add(_Message(deque(submits(number, text, self._reference)), sent))
        await sent

    def command(self, effect: SendModem) -> None:
        """Send a command of a user; `status` shows the answer."""
        self.status.note_command(effect.command)
        if self._open:
            self._add(_Command(effect.command))
        else:
            self.status.note_answer((NOT_CONNECTED,))

    def adopt(self, old: Settings, new: Settings) -> None:
        if new.gsm.apn != old.gsm.apn:
            self._work.apn = True
            self._work.wake.set()

    def _add(self, job: _Message | _Command) -> None:
        self._work.jobs.append(job)
        self._work.wake.set()

    # --- the session on an open port --------------------------------------------------------------

    async def run(self, reader: SerialReader, writer: SerialWriter) -> None:
        line = ModemLine(writer, self._pace, self._handle_unasked, self._work.wake.set)
        self._open = True
        self.status.state = "starting"
        talking = asyncio.create_task(self._talk(line))
        listening = asyncio.create_task(line.listen(reader))
        try:
            done, _ = await asyncio.wait((talking, listening), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (talking, listening):
                task.cancel()
            await asyncio.gather(talking, listening, return_exceptions=True)
            self._open = self._ready = False
            self.status.reset("not connected")
            self._drop_jobs("The connection to the GSM modem was lost.")

    def leave(self) -> None:
        self._troubles.note(PART, None)

    async def _talk(self, line: ModemLine) -> None:
        while True:
            self._ready = False
            try:
                await line.synchronise()
                await line.order(ECHO_OFF)
                # Report errors as text instead of codes.
                await line.order("AT+CMEE=2")
                self._work.look = True
                await self._serve(line)
            except ModemRestarted:
                log.warning("the GSM modem has restarted; it is set up again")
                self.status.reset("starting")
            except ModemSilent:
                self.status.reset("silent")
                await self._give_up("the GSM modem does not answer; check its power and wires.")
            except ModemRefused as refusal:
                self.status.reset("starting")
                await self._give_up(f"{refusal}.")

    async def _give_up(self, sentence: str) -> None:
        """Fail all waiting jobs, and pause before the next attempt."""
        self._troubles.note(PART, sentence)
        self._drop_jobs(sentence)
        await asyncio.sleep(self._pace.retry_s)

    def _drop_jobs(self, sentence: str) -> None:
        while self._work.jobs:
            self._fail(self._work.jobs.popleft(), sentence)

    def _fail(self, job: _Message | _Command, sentence: str) -> None:
        if isinstance(job, _Command):
            self.status.note_answer((sentence,))
        elif not job.sent.done():
            job.sent.set_exception(ModemUnavailable(sentence))

    async def _serve(self, line: ModemLine) -> None:
        """Perform the waiting jobs one after the other, until the modem fails or restarts."""
        work = self._work
        while True:
            work.wake.clear()
            if line.restarted:
                raise ModemRestarted
            if work.look or _now() >= self._looked_at + self._look_every_s():
                work.look = False
                await self._look(line)
            elif work.jobs:
                await self._do(line, work.jobs[0])
            elif work.apn and self._ready:
                await self._set_apn(line)
            elif work.new_messages and self._ready:
                work.new_messages = False
                await self._fetch(line)
            else:
                await self._idle()

    async def _idle(self) -> None:
        """Wait until there is a job or the status must be read again."""
        pause_s = max(0.0, self._looked_at + self._look_every_s() - _now())
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._work.wake.wait()

    def _look_every_s(self) -> float:
        return self._pace.look_s if self._ready else self._pace.retry_s

    def _handle_unasked(self, text: str) -> None:
        self.status.note_unasked(text)
        if text.startswith(_NEW_MESSAGE):
            self._work.new_messages = True
        elif text == _BOOTED:
            # The modem may have restarted unnoticed; reading the status shows whether it has.
            self._work.look = True
        else:
            return
        self._work.wake.set()

    # --- single tasks -----------------------------------------------------------------------------

    async def _look(self, line: ModemLine) -> None:
        """Read the state of the SIM card and of the network."""
        status = self.status
        self._looked_at = _now()
        status.took_sim(await line.ask("AT+CPIN?"))
        if not status.sim_ready:
            self._ready = False
            status.state = "waiting for the SIM card"
            self._troubles.note(PART, f"the SIM card is not ready: {status.sim}.{status.sim_hint}")
            return
        if not self._ready:
            for command in _SET_UP:
                await line.order(command)
            self._ready = self._work.new_messages = self._work.apn = True
        status.took_signal(await line.ask("AT+CSQ"))
        status.took_registration(await line.ask("AT+CREG?"))
        status.took_operator(await line.ask("AT+COPS?"))
        status.state = "ready"
        if status.registered:
            self._troubles.note(PART, None)
        else:
            self._troubles.note(PART, f"the SIM card is not in a network: {status.registration}.")

    async def _do(self, line: ModemLine, job: _Message | _Command) -> None:
        if isinstance(job, _Command):
            self._work.jobs.popleft()
            await self._type(line, job.text)
        elif not self._ready:
            self._work.jobs.popleft()
            self._fail(job, f"The SIM card is not ready: {self.status.sim}.")
        else:
            await self._send(line, job)

    async def _type(self, line: ModemLine, text: str) -> None:
        try:
            answer = await line.ask(text)
        except (ModemSilent, ModemRestarted, ModemRefused) as error:
            reasons = {ModemSilent: "no answer", ModemRestarted: "the modem restarted"}
            self.status.note_answer((reasons.get(type(error), str(error)),))
            if not isinstance(error, ModemRefused):
                raise
        else:
            self.status.note_answer((*answer.lines, answer.result))
            # The command may have changed the status, for example by entering the PIN.
            self._work.look = True

    async def _send(self, line: ModemLine, message: _Message) -> None:
        jobs = self._work.jobs
        try:
            while message.parts and not message.sent.done():
                await line.send(message.parts[0])
                message.parts.popleft()
        except ModemRefused as refusal:
            jobs.popleft()
            self._fail(message, f"{refusal}.")
        except (ModemSilent, ModemRestarted):
            message.attempts += 1
            if message.attempts == MAX_ATTEMPTS:
                jobs.popleft()
                self._fail(message, "The GSM modem restarts at every attempt to send.")
            raise
        else:
            jobs.popleft()
            if not message.sent.done():
                message.sent.set_result(None)

    async def _set_apn(self, line: ModemLine) -> None:
        """Set the APN; the setting contains the quotes that the modem requires."""
        self._work.apn = False
        apn = self._gsm().apn
        if not apn:
            return
        try:
            # The modem accepts an APN only while it is not connected.
            await line.order("AT+CIPSHUT")
            await line.order(f"AT+CSTT={apn}")
            self.status.apn = "set"
        except ModemRefused as refusal:
            self.status.apn = str(refusal)
            log.warning("the APN could not be set: %s", refusal)

    async def _fetch(self, line: ModemLine) -> None:
        """Remove all messages from the SIM card and process them."""
        try:
            answer = await line.order(_ALL_MESSAGES)
            for index, digits in list_stored_messages(answer.lines):
                await line.order(f"AT+CMGD={index}")
                await self._receive(digits)
        except ModemRefused as refusal:
            log.warning("received SMS could not be removed from the SIM card: %s", refusal)

    async def _receive(self, digits: str) -> None:
        received = self._inbox.take(digits)
        if received is None:
            return
        reply = await self._on_sms(received.sender, received.text)
        if reply is not None and received.can_be_answered:
            self._answer(received.sender, reply)

    def _answer(self, number: str, text: str) -> None:
        """Send a reply without a waiting caller; failures are logged."""
        self._reference = (self._reference + 1) & 0xFF
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sent.add_done_callback(_log_failure)
        self._add(_Message(deque(submits(number, text, self._reference)), sent))


def _log_failure(sent: asyncio.Future[None]) -> None:
    if not sent.cancelled() and (error := sent.exception()) is not None:
        log.warning("an SMS could not be answered: %s", error)


def _now() -> float:
    return asyncio.get_running_loop().time()
