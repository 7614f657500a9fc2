"""Commands by SMS: `<code>:<command>`, with the command in the same form as over HTTP.

A sender with the code of `gsmcode` has the rights of the administrator, except for accounts,
passwords and the servers that receive stored passwords: a short code that can be guessed must not
give access to these. Without a configured code no command is accepted. Other messages (wrong codes,
advertising) get no reply; only their arrival is logged. After wrong codes, the number that sent
them has to wait; after many wrong codes, all numbers have to wait.
"""

import hmac
import logging
from collections import OrderedDict
from collections.abc import Callable
from math import ceil

from msgspec import Struct

from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.host.controller import Controller
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.lookup import Account
from leverframe.interface.table.refusals import NotAllowed, Refusal
from leverframe.interface.table.row import ADMIN
from leverframe.interface.table.serial_port import MAX_CODE_LETTERS
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

#: An answer fits into one message.
MAX_LETTERS = 160
#: The account of a sender with the right code.
BY_CODE = Account("", ADMIN, joins_commands=True)
#: How many wrong codes cause no wait: from one number, and from all numbers together.
FREE_OF_NUMBER = 3
FREE_IN_ALL = 10
FIRST_WAIT_S = 60.0
LONGEST_WAIT_S = 3600.0
FORGOTTEN_S = 86400.0
#: Maximum number of telephone numbers kept of each kind; those silent the longest are dropped
#: first.
MAX_NUMBERS = 1024


class SmsCommands:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._throttle = CodeThrottle(controller.clock.now)
        self._log = LogThrottle(log, controller.clock.now)

    async def take(self, sender: str, text: str) -> str | None:
        """Run the command in an SMS; return the answer, or None if the SMS gets none."""
        if not self._controller.has_power:
            return None
        text = text.strip()
        shows_code = _shows_code(text)
        if shows_code and (wait_s := self._throttle.wait_s(sender)):
            self._log.warning(
                sender,
                "wait",
                "ignored an SMS from %s: too many wrong codes, waiting %d s",
                sender,
                ceil(wait_s),
            )
            return None
        command = self._command_in(text) if shows_code else None
        if command is None:
            self._log.warning(
                sender, "code", "ignored an SMS from %s without the right code", sender
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
        """Return the text after the right code and its colon, or None."""
        code = self._controller.pending.gsm.code
        said, rest = text[: len(code)], text[len(code) :].lstrip()
        # The comparison time must not reveal how much of a code is right.
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
                raise NotAllowed("Servers that receive stored passwords cannot be set by SMS.")
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
    """Return whether a text looks like a code and a command; advertising must not cause a wait."""
    before, colon, _ = text.partition(":")
    return bool(colon) and len(before.rstrip()) <= MAX_CODE_LETTERS


class _Failures(Struct):
    free: int
    count: int = 0
    last: float = 0.0

    def ready_at(self) -> float:
        beyond = self.count - self.free
        if beyond <= 0:
            return 0.0
        # The exponent is limited, too, because the number of wrong codes is not.
        return self.last + min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(beyond - 1, 10))

    def add(self, now: float) -> None:
        self.count = 1 if now > self.last + FORGOTTEN_S else self.count + 1
        self.last = now


class CodeThrottle:
    """The limit of wrong codes by SMS: guessing takes years, and the owner's number still works.

    The first wrong codes from a number cause no wait, since users mistype; then each wait is twice
    as long as the one before. A sender is easily forged, so all numbers together are limited in the
    same way, except those that have sent the right code. A message during a wait is ignored and
    does not extend the wait, so no one can keep a number waiting forever. After a day without wrong
    codes, all failures are forgotten.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._in_all = _Failures(FREE_IN_ALL)
        self._numbers: OrderedDict[str, _Failures] = OrderedDict()
        self._proven: OrderedDict[str, None] = OrderedDict()

    def wait_s(self, number: str) -> float:
        """Return how long codes from a number are still ignored; 0 if they are not."""
        failures = self._numbers.get(number)
        ready_at = 0.0 if failures is None else failures.ready_at()
        if number not in self._proven:
            ready_at = max(ready_at, self._in_all.ready_at())
        return max(0.0, ready_at - self._now())

    def was_wrong(self, number: str) -> None:
        now = self._now()
        failures = self._numbers.pop(number, None) or _Failures(FREE_OF_NUMBER)
        failures.add(now)
        self._numbers[number] = failures
        if len(self._numbers) > MAX_NUMBERS:
            self._numbers.popitem(last=False)
        self._in_all.add(now)

    def was_right(self, number: str) -> None:
        self._numbers.pop(number, None)
        self._proven[number] = None
        self._proven.move_to_end(number)
        if len(self._proven) > MAX_NUMBERS:
            self._proven.popitem(last=False)
