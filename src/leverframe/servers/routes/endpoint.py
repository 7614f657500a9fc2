"""One row of the endpoint table, and how its function becomes a reply."""

from collections.abc import Callable
from typing import Any

from leverframe.commands.describe.openapi import EndpointDescription
from leverframe.servers.routes.context import Context


class Endpoint(EndpointDescription, frozen=True, kw_only=True):
    #: Gives a value of the type `reply`, sent as JSON, or a whole reply, or a coroutine of one.
    function: Callable[[Context], Any]
    #: The value is the same as long as the controller is the same version.
    fixed: bool = False
    #: Answers while the bootloader waits, too.
    in_bootloader: bool = False
