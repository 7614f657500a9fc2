"""The SNMP agent of a controller, and the engine that all agents share while there are any."""

import asyncio
import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from leverframe.core.runtime.event_loop import LoopTurns, turns_alone
from leverframe.core.runtime.installation import explain_missing_extra
from leverframe.core.settings import Settings, Snmp
from leverframe.devices.readings import Troubles
from leverframe.host.controller import Controller
from leverframe.interface.table.refusals import Conflict
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.server.shared_ports import SNMP_AGENT, DatagramPlace

if TYPE_CHECKING:
    from leverframe.server.snmp_engine import AgentEngine
    from leverframe.server.snmp_responder import Responder


class AgentEngines:
    def __init__(self) -> None:
        self._engine: AgentEngine | None = None
        self._users = 0
        self._making = asyncio.Lock()

    async def take(self) -> "AgentEngine":
        """Return the engine; it is kept until `give_back` was called for every `take`."""
        async with self._making:
            if self._engine is None:
                # This is done off the event loop, because it takes longer than a relay may wait.
                self._engine = await asyncio.to_thread(_create_engine)
            self._users += 1
            return self._engine

    def give_back(self) -> None:
        self._users -= 1
        if self._users == 0 and self._engine is not None:
            self._engine.close()
            self._engine = None


def _create_engine() -> "AgentEngine":
    make: Callable[[], AgentEngine] = import_module("leverframe.server.snmp_engine").AgentEngine
    return make()


# The SNMP agent: it listens while the settings enable it, and answers with the controller's values.
#
# Communities and the SNMPv3 user (authentication and privacy) decide who may read and who may also
# set branch 1. A SET runs the same commands as other interfaces, with the rights of a control user:
# all commands of a request, or none. The lock of the outputs applies.

log = logging.getLogger(__name__)


class SnmpAgent:
    __slots__ = (
        "_controller",
        "_engines",
        "_identity",
        "_living_by",
        "_name",
        "_place",
        "_responder",
        "_switching",
        "_troubles",
        "_turns",
        "_wanted",
    )

    def __init__(
        self,
        controller: Controller,
        place: DatagramPlace,
        *,
        name: str,
        identity: EngineIdentity,
        engines: AgentEngines,
        turns: LoopTurns | None = None,
    ) -> None:
        self._controller = controller
        self._troubles = Troubles(controller.troubles)
        self._place = place
        self._name = name
        self._identity = identity
        self._engines = engines
        self._turns = turns or turns_alone()
        self._wanted = Snmp()
        self._living_by = Snmp()
        self._responder: Responder | None = None
        self._switching: asyncio.Task[None] | None = None

    @property
    def port(self) -> int | None:
        """The port while it is open."""
        return self._responder.port if self._responder else None

    def check(self, new: Settings) -> None:
        """Refuse to enable the agent if its port cannot be used."""
        if self._responder is not None or not new.snmp.enabled:
            return
        try:
            self._place.try_it()
        except OSError as error:
            raise Conflict(
                f"The SNMP agent stays off. {self._place.words} cannot be used:"
                f" {error.strerror or error}. Free the port, or set another snmp_port in the "
                "configuration.",
                allowed="a free port",
            ) from error

    async def follow(self, settings: Settings) -> None:
        """Listen or not, as the settings require; record errors in them as a problem."""
        self._wanted = _without_traps(settings.snmp)
        await self._switch()

    def adopt(self, old: Settings, new: Settings) -> asyncio.Task[None] | None:
        """Follow new settings; the returned task ends when the port is open, or closed.

        Any change of the settings retries a port that could not be opened.
        """
        if new.snmp is old.snmp and self._wanted == self._living_by:
            return None
        self._wanted = _without_traps(new.snmp)
        if self._switching is None or self._switching.done():
            self._switching = asyncio.get_running_loop().create_task(self._switch())
        return self._switching

    async def move_to(self, place: DatagramPlace) -> None:
        """Listen at another place, or not at all."""
        # Settings that change in the meantime take effect, because the move ends with a switch.
        self._switching = asyncio.get_running_loop().create_task(self._move(self._switching, place))
        await self._switching

    async def _move(self, before: asyncio.Task[None] | None, place: DatagramPlace) -> None:
        if before is not None:
            await asyncio.wait([before])
        self._living_by = Snmp()
        await self._stop()
        self._place = place
        await self._switch()

    async def close(self) -> None:
        self._wanted = Snmp()
        if self._switching is not None:
            # A failure of this task was reported to the request that changed the settings.
            await asyncio.wait([self._switching])
        await self._switch()

    async def _switch(self) -> None:
        while self._wanted != self._living_by:
            wanted, self._living_by = self._wanted, Snmp()
            await self._stop()
            trouble = await self._start(wanted) if wanted.enabled else None
            self._troubles.note(SNMP_AGENT, trouble)
            if trouble is None:
                self._living_by = wanted
            elif self._wanted == wanted:
                return

    async def _stop(self) -> None:
        responder, self._responder = self._responder, None
        if responder is not None:
            await responder.close()
            self._engines.give_back()

    async def _start(self, wanted: Snmp) -> str | None:
        """Listen; return the reason if that is impossible."""
        # The library is imported here, because controllers without SNMP do not need it. This is
        # done off the event loop, because it takes longer than a relay may wait.
        try:
            await asyncio.to_thread(import_module, "leverframe.server.snmp_responder")
        except ModuleNotFoundError as error:
            return explain_missing_extra(error)
        from leverframe.notify.snmp_sender import has_v3, master_keys
        from leverframe.server.snmp_responder import Responder

        if not (wanted.read_community or wanted.write_community or has_v3(wanted)):
            return (
                "No client has access: set a community with snmp=1*..., or a user with its keys "
                "with snmpv3=..."
            )
        try:
            listener = self._place.open()
        except Conflict as refusal:
            return refusal.detail
        except OSError as error:
            return (
                f"{self._place.words} cannot be used: {error.strerror or error}. Free the port "
                "and send snmp=1*... again, or set another snmp_port in the configuration."
            )
        engine = await self._engines.take()
        try:
            if has_v3(wanted):
                # Hashing takes long, so the keys are computed before the loop needs them.
                await asyncio.to_thread(master_keys, wanted)
            responder = Responder(
                engine,
                self._controller,
                wanted,
                name=self._name,
                identity=self._identity,
                turns=self._turns,
            )
        except Exception:
            # Settings come from files, too; bad ones must not stop the controller.
            log.exception("%s: setup failed", SNMP_AGENT)
            listener.close()
            self._engines.give_back()
            return "Setup with these names and keys failed; see the log."
        responder.listen(listener)
        self._responder = responder
        return None


def _without_traps(snmp: Snmp) -> Snmp:
    """Return the settings that concern the agent; only the outbox uses traps."""
    return Snmp(
        enabled=snmp.enabled,
        read_community=snmp.read_community,
        write_community=snmp.write_community,
        user=snmp.user,
        authentication_key=snmp.authentication_key,
        privacy_key=snmp.privacy_key,
        privacy=snmp.privacy,
    )
