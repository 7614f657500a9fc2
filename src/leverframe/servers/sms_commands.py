"""Commands by SMS: `<code>:<command>`, the command in the same text as over HTTP.

Whoever knows the code of `gsmcode` may do what the administrator may, except for accounts,
passwords and the servers that stored passwords are sent to: a few letters that somebody could guess
must not open those. Without a code nobody may do anything. Everything else that arrives (wrong
codes, advertising) is passed over without an answer; only that it came is logged. Wrong codes make
their number wait, and all numbers together (`code_throttle.py`).
"""

import hmac
import logging
from math import ceil

from leverframe.commands.table.pathless import calls_in
from leverframe.commands.table.refusals import NotAllowed, Refusal
from leverframe.commands.table.rights import Account
from leverframe.commands.table.row import ADMIN
from leverframe.commands.table.serial_port import MAX_CODE_LETTERS
from leverframe.controller import Controller
from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.log_throttle import LogThrottle
from leverframe.servers.code_throttle import CodeThrottle
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

#: An answer is one message.
MAX_LETTERS = 160
#: Whoever knows the code.
BY_CODE = Account("", ADMIN, joins_commands=True)


class SmsCommands:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._throttle = CodeThrottle(controller.clock.now)
        self._log = LogThrottle(log, controller.clock.now)

    async def take(self, sender: str, text: str) -> str | None:
        """Carry out the command of an SMS and return the answer; None where there is none."""
        if not self._controller.has_power:
            return None
        text = text.strip()
        shows_code = _shows_code(text)
        if shows_code and (wait_s := self._throttle.wait_s(sender)):
            self._log.warning(
                sender,
                "wait",
                "an SMS from %s was passed over: after wrong codes none is looked at for %d s",
                sender,
                ceil(wait_s),
            )
            return None
        command = self._command_in(text) if shows_code else None
        if command is None:
            self._log.warning(
                sender, "code", "an SMS from %s without the right code was passed over", sender
            )
            if shows_code:
                self._count_wrong_code(sender)
            return None
        self._throttle.was_right(sender)
        if self._controller.bootloader_until is not None:
            return "The controller is in its bootloader."
        return (await self._perform(command, sender))[:MAX_LETTERS]

    def _count_wrong_code(self, sender: str) -> None:
        self._throttle.was_wrong(sender)
        wait_s = self._throttle.wait_s(sender)
        what = "wrong_code_waits" if wait_s else "wrong_code"
        self._controller.engine.machine.journal.add(
            self._controller.clock.read().wall,
            Cause("sign-in", f"SMS from {sender}", source=sender),
            Fact(what, figures={"seconds": ceil(wait_s)}),
        )

    def _command_in(self, text: str) -> str | None:
        """Return the text behind the right code and its colon, or None."""
        code = self._controller.pending.gsm.code
        said, rest = text[: len(code)], text[len(code) :].lstrip()
        # The time that this takes must not reveal how much of a code is right.
        if not hmac.compare_digest(said.encode(), code.encode()) or not code:
            return None
        return rest[1:].strip() if rest.startswith(":") else None

    async def _perform(self, command: str, sender: str) -> str:
        controller = self._controller
        try:
            calls = calls_in(command, controller.profile)
            if any(call.row.secret for call in calls):
                raise NotAllowed("Accounts and passwords cannot be set by SMS.")
            if any(call.row.names_server for call in calls):
                raise NotAllowed("Servers that passwords are sent to cannot be set by SMS.")
            await controller.perform(
                [(call, None) for call in calls],
                Cause("command", f"SMS from {sender}", source=sender),
                account=BY_CODE,
            )
        except Refusal as refusal:
            return f"Refused: {refusal.as_problem()['detail']}"
        except StoreUnavailable as error:
            return f"Failed: {error}"
        return f"OK {self._states()}"

    def _states(self) -> str:
        values = self._controller.engine.values
        groups = {"OUT": OUTPUTS, "PWM": PWMS, "EVENT": EVENT_VARIABLES}
        return " ".join(
            f"{name} {''.join(str(values[label]) for label in labels)}"
            for name, labels in groups.items()
        )


def _shows_code(text: str) -> bool:
    """Return whether a text begins with a code; advertising must not make people wait."""
    before, colon, _ = text.partition(":")
    return bool(colon) and len(before.rstrip()) <= MAX_CODE_LETTERS
