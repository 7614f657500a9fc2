"""The commands of one request, performed on a stage: all of them, or by a refusal none."""

from collections.abc import Iterable, Sequence
from typing import Any

from leverframe.commands.table.matching import Call
from leverframe.commands.table.refusals import Malformed, Refusal
from leverframe.commands.table.stage import Stage
from leverframe.engine.actions import WriteToModule

#: A command with the content of its body, if it has one.
Command = tuple[Call, Any]


class NeedsHashing(Exception):
    """The request sets passwords: hash these and perform it again with the hashes."""

    def __init__(self, passwords: Iterable[str]) -> None:
        super().__init__("passwords must be hashed first")
        self.passwords = tuple(passwords)


def perform_all(commands: Sequence[Command], stage: Stage, skipped: list[Refusal] | None) -> None:
    """Perform commands on a stage; given a list for them, skip those that are refused."""
    if skipped is None:
        for call, body in commands:
            call.perform(stage, body)
    else:
        perform_or_skip(commands, stage, skipped)
    if stage.unhashed:
        raise NeedsHashing(stage.unhashed)
    if len(commands) > 1:
        _check_alone(stage)


def perform_or_skip(commands: Iterable[Command], stage: Stage, skipped: list[Refusal]) -> None:
    """Perform each command for itself; one that is refused leaves the stage as it was."""
    for call, body in commands:
        settings, actions = stage.settings, len(stage.actions)
        try:
            call.perform(stage, body)
        except Refusal as refusal:
            skipped.append(refusal)
            stage.settings = settings
            del stage.actions[actions:]


def _check_alone(stage: Stage) -> None:
    """Refuse to join a write to a module with other commands: nothing could undo these."""
    if any(isinstance(action, WriteToModule) for action in stage.actions):
        raise Malformed(
            "A write to a Modbus module must be the only command of its request, because the "
            "module may refuse it after other commands have taken effect."
        )
