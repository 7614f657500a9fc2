"""What a restore brings: the settings as they shall be, and what could not be carried over."""

from typing import Any, NamedTuple

from leverframe.engine.settings import Settings


class NotCarriedOver(NamedTuple):
    """A setting that a restore leaves out, with the reason as a sentence."""

    path: str
    #: What the backup holds; never a secret.
    value: Any
    reason: str


class Restored(NamedTuple):
    settings: Settings
    not_carried_over: tuple[NotCarriedOver, ...] = ()
