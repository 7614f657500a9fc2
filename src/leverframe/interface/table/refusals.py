"""Why a command is not carried out: one class per decision a caller makes.

Every refusal is a sentence for a person: what was wrong, what is allowed, what to do. After a
refusal nothing has changed.

A sentence that repeats what was sent says so: by `value`, or by `discreet`, the same sentence
without it and without a field. So a refusal of what may be a secret can leave it out.
"""

from typing import Any, NamedTuple

from leverframe.core.settings import Settings
from leverframe.core.tree import is_confidential


class Refusal(Exception):
    status = 400
    title = "The request is not well formed"

    def __init__(
        self,
        detail: str,
        *,
        command: str | None = None,
        field: str | None = None,
        value: str | None = None,
        allowed: str | None = None,
        discreet: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self._discreet = discreet
        self.command = command
        self.field = field
        self.value = value
        self.allowed = allowed

    def of(self, command: str, field: str | None = None) -> "Refusal":
        """Set the command (and field) that the refusal is about, unless they are set."""
        self.command = self.command or command
        self.field = self.field or field
        return self

    def without_value(self) -> "Refusal":
        """Remove the sent value from the refusal: it may be a secret."""
        if self._discreet is not None:
            self.detail, self.field = self._discreet, None
        elif self.value is not None:
            self.detail = "The value is not allowed."
        self.command = self.value = None
        return self

    @property
    def at_its_place(self) -> str:
        """The problem and what is allowed, for users who see the field."""
        hint = f" Allowed: {self.allowed}." if self.allowed else ""
        return f"{self.detail}{hint}"

    def _sentence(self) -> str:
        """Return what is wrong, with the field and what is allowed, as a sentence."""
        about = f"Field {self.field}: " if self.field else ""
        return f"{about}{self.at_its_place}"

    def as_problem(self) -> dict[str, str | int]:
        """Return the members of an RFC 9457 problem document."""
        problem: dict[str, str | int] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self._sentence(),
        }
        for name in ("command", "field", "value", "allowed"):
            member = getattr(self, name)
            if member is not None:
                problem[name] = member
        return problem


class BadValue(Refusal):
    title = "A value is not allowed"


class Malformed(Refusal):
    pass


class TooManyCommands(Refusal):
    title = "The request has too many commands"


class UnknownCommand(Refusal):
    status = 404
    title = "Unknown command"


class NotOffered(Refusal):
    status = 404
    title = "This version does not have the command yet"


class Withdrawn(Refusal):
    status = 410
    title = "This version no longer has the command"


class WrongMethod(Refusal):
    status = 405
    title = "The command requires another method"


class Conflict(Refusal):
    status = 409
    title = "The command contradicts the current state"


class ConditionNotMet(Refusal):
    status = 409
    title = "The condition was not met"


class Locked(Refusal):
    status = 423
    title = "The outputs are locked"


class DeviceFailed(Refusal):
    status = 502
    title = "The device did not accept the value"


class SignInRequired(Refusal):
    status = 401
    title = "Sign in first"


class NotAllowed(Refusal):
    status = 403
    title = "This account is not allowed to do that"


# The outcome of a restore: the new settings, and the list of what could not be carried over.


class NotCarriedOver(NamedTuple):
    """A setting that is left out, or means something else now, with the reason as a sentence."""

    path: str
    #: What the backup holds; never a secret or a token.
    value: Any
    reason: str


def report_lost(path: str, value: Any, reason: str) -> NotCarriedOver:
    return NotCarriedOver(path, None if is_confidential(path) else value, reason)


class Restored(NamedTuple):
    settings: Settings
    not_carried_over: tuple[NotCarriedOver, ...] = ()
