"""The SNMP engine that all agents of a process share; it answers for the agent that was asked.

Managers know each controller by its own engine ID, with its own boots, time, communities and users.
Requests are answered one at a time, so a single engine of the library can act as each controller in
turn. Credentials are registered once: a community for all agents that have it, a user for the
engine that has it, until the agent's `ExitStack` is closed.
"""

import itertools
from collections import Counter
from contextlib import ExitStack
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp  # type: ignore[import-untyped]
from pysnmp.entity import config  # type: ignore[import-untyped]
from pysnmp.entity.rfc3413 import cmdrsp, context  # type: ignore[import-untyped]
from pysnmp.smi import instrum  # type: ignore[import-untyped]

from leverframe.core.settings import Snmp
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.notify.snmp_sender import KEY_TYPE, CommonEngine, master_keys

_RESPONDERS = (
    cmdrsp.GetCommandResponder,
    cmdrsp.NextCommandResponder,
    cmdrsp.BulkCommandResponder,
    cmdrsp.SetCommandResponder,
)
#: The column of the user table that creates and deletes rows.
_USER_STATUS = 13


class AskedValues(instrum.AbstractMibInstrumController):  # type: ignore[misc]
    """The values of the controller that is answering."""

    of_asked: instrum.AbstractMibInstrumController | None = None

    def read_variables(self, *asked: Any, **around: Any) -> Any:
        assert self.of_asked is not None
        return self.of_asked.read_variables(*asked, **around)

    def read_next_variables(self, *asked: Any, **around: Any) -> Any:
        assert self.of_asked is not None
        return self.of_asked.read_next_variables(*asked, **around)

    def write_variables(self, *asked: Any, **around: Any) -> Any:
        assert self.of_asked is not None
        return self.of_asked.write_variables(*asked, **around)


class AgentEngine:
    def __init__(self) -> None:
        """Create the engine, which takes long; everything later runs on the event loop."""
        self._engine = CommonEngine()
        self._library = self._engine.library
        self._values = AskedValues()
        served = context.SnmpContext(self._library)
        served.unregister_context_name(b"")
        served.register_context_name(b"", self._values)
        self._responders = [kind(self._library, served) for kind in _RESPONDERS]
        self._communities: dict[str, str] = {}
        self._askers: Counter[str] = Counter()
        self._engine_ids: set[bytes] = set()
        self._numbers = itertools.count(1)

    # --- permitted managers -----------------------------------------------------------------------

    def admit_community(self, community: str, until: ExitStack) -> str:
        """Admit a community; return the library's name for its users."""
        if community not in self._communities:
            name = f"community {next(self._numbers)}"
            # Messages with a community contain no engine ID, so they never use the ID of a
            # controller.
            own_id = self._engine.own_id
            config.add_v1_system(self._library, name, community.encode(), contextEngineId=own_id)
            self._communities[community] = name
        self._askers[community] += 1
        until.callback(self._dismiss_community, community)
        return self._communities[community]

    def _dismiss_community(self, community: str) -> None:
        self._askers[community] -= 1
        if not self._askers[community]:
            del self._askers[community]
            config.delete_v1_system(self._library, self._communities.pop(community))

    def admit_user(self, identity: EngineIdentity, snmp: Snmp, until: ExitStack) -> None:
        self._engine_ids.add(identity.engine_id)
        until.callback(self._dismiss_user, identity, snmp)
        config.add_v3_user(
            self._library,
            snmp.user,
            *master_keys(snmp),
            securityEngineId=self._engine.id_of(identity),
            authKeyType=KEY_TYPE,
            privKeyType=KEY_TYPE,
        )

    def _dismiss_user(self, identity: EngineIdentity, snmp: Snmp) -> None:
        self._engine_ids.discard(identity.engine_id)
        # The library's own function searches all users for users cloned from this one.
        (users,) = self._library.get_mib_builder().import_symbols(
            "SNMP-USER-BASED-SM-MIB", "usmUserEntry"
        )
        row = users.getInstIdFromIndices(self._engine.id_of(identity), snmp.user)
        tables = self._library.message_dispatcher.mib_instrum_controller
        tables.write_variables(
            ((*users.name, _USER_STATUS, *row), "destroy"), snmpEngine=self._library
        )

    def is_for_another(self, identity: EngineIdentity, engine_id: bytes) -> bool:
        """Return whether the engine ID belongs to a controller other than this one."""
        return engine_id != identity.engine_id and engine_id in self._engine_ids

    # --- answering --------------------------------------------------------------------------------

    def speak_for(
        self, identity: EngineIdentity, values: instrum.AbstractMibInstrumController
    ) -> None:
        """Answer the next request on behalf of a controller."""
        if self._values.of_asked is values:
            return
        self.release()
        self._values.of_asked = values
        self._engine.speak_for(identity)
        for responder in self._responders:
            self._library.message_dispatcher.register_context_engine_id(
                self._library.snmpEngineID, responder.SUPPORTED_PDU_TYPES, responder.process_pdu
            )

    def release(self) -> None:
        """Stop answering on behalf of a controller."""
        if self._values.of_asked is not None:
            for responder in self._responders:
                self._library.message_dispatcher.unregister_context_engine_id(
                    self._library.snmpEngineID, responder.SUPPORTED_PDU_TYPES
                )
        self._values.of_asked = None
        self._engine.use_common_engine()

    def open(self, transport: udp.UdpAsyncioTransport, until: ExitStack) -> None:
        """Receive messages from a transport."""
        domain = (*udp.DOMAIN_NAME, next(self._numbers))
        config.add_transport(self._library, domain, transport)
        until.callback(self._close, domain)

    def _close(self, domain: tuple[int, ...]) -> None:
        dispatcher = self._library.transport_dispatcher
        transport = dispatcher.get_transport(domain)
        dispatcher.unregister_transport(domain)
        transport.close_transport()
        self.release()

    def close(self) -> None:
        self._library.close_dispatcher()
