"""Refusals of commands, with one class for each case that callers distinguish.

Every refusal is a sentence for users: what is wrong, what is allowed, what to do. After a refusal
nothing has changed.

If the sentence repeats text of the client, `value` or `discreet` is set; `discreet` is the same
sentence without that text and without a field. It is used if the text may be a secret.
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
        """Set the command (and field) of the refusal, unless they are already set."""
        self.command = self.command or command
        self.field = self.field or field
        return self

    def without_value(self) -> "Refusal":
        """Remove the client's text from the refusal, because it may be a secret."""
        if self._discreet is not None:
            self.detail, self.field = self._discreet, None
        elif self.value is not None:
            self.detail = "The value is not allowed."
        self.command = self.value = None
        return self

    @property
    def at_its_place(self) -> str:
        """The problem and the allowed values, for a user who sees the field."""
        hint = f" Allowed: {self.allowed}." if self.allowed else ""
        return f"{self.detail}{hint}"

    def _sentence(self) -> str:
        """Return a sentence that says what is wrong, in which field, and what is allowed."""
        about = f"Field {self.field}: " if self.field else ""
        return f"{about}{self.at_its_place}"

    def as_problem(self) -> dict[str, str | int]:
        """Return the fields of an RFC 9457 problem document."""
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


# The result of a restore: the new settings, and the settings that could not be carried over.


class NotCarriedOver(NamedTuple):
    """A setting that was not restored or has another meaning now, with the reason as a sentence."""

    path: str
    #: The value in the backup; never a secret or a token.
    value: Any
    reason: str


def report_lost(path: str, value: Any, reason: str) -> NotCarriedOver:
    return NotCarriedOver(path, None if is_confidential(path) else value, reason)


class Restored(NamedTuple):
    settings: Settings
    not_carried_over: tuple[NotCarriedOver, ...] = ()
