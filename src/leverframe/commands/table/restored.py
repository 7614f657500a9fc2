"""The outcome of a restore: the new settings, and the list of what could not be carried over."""

from typing import Any, NamedTuple

from leverframe.engine.settings import Settings
from leverframe.engine.tree import is_confidential


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
