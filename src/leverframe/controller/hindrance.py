"""A node that may do nothing for a controller now, and how it refuses requests."""

from collections.abc import Sequence

import msgspec

from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.stage import Stage
from leverframe.controller.staging import Command, perform_or_skip


class ControllerElsewhere(Refusal):
    """The controller may run elsewhere by now."""

    status = 503
    title = "This node may have lost the controller"


class StoreAway(Refusal):
    """Nothing can be stored now; nothing was changed."""

    status = 507
    title = "The change could not be stored"


class Hindrance(msgspec.Struct, frozen=True):
    """Why this node may do nothing for the controller now."""

    reason: str
    #: What is stored is out of reach, and the controller may be this node's as before.
    store_is_away: bool = False

    def refuse(self, commands: Sequence[Command], stage: Stage) -> None:
        """Refuse commands by what they would do; a request without a command only reads the states.

        That is found out on settings that may be old, so nothing else is decided by them.
        """
        perform_or_skip(commands, stage, [])
        if self.store_is_away and (stage.given or stage.blobs or stage.replaces_all):
            raise StoreAway(self.reason)
        if commands:
            raise ControllerElsewhere(self.reason)


MOVING = Hindrance(
    "This controller is moving to another node. Nothing was changed; repeat the request."
)
