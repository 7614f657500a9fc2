"""Servers that follow a setting: one that could not follow is still closed in order."""

import pytest

from leverframe.core.tree import with_value
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.modbus_tcp import ModbusTcpServer
from leverframe.server.shared_ports import OwnDatagramPlace, OwnPlace
from leverframe.server.snmp_agent import AgentEngines, SnmpAgent
from leverframe.testing import LoopTwin

#: A name that is refused before any request for it.
IMPOSSIBLE = "no\0host"


@pytest.mark.parametrize("switch", ["snmp.enabled", "modbus_tcp.enabled"])
async def test_failed_start_of_a_server_is_reported_to_its_requester_and_closes_it(
    switch: str,
) -> None:
    controller = (await LoopTwin.start()).controller
    server = (
        SnmpAgent(
            controller,
            OwnDatagramPlace(IMPOSSIBLE, 0),
            name="name",
            identity=EngineIdentity(b"\x80\0\0\0\0", 1),
            engines=AgentEngines(),
        )
        if switch.startswith("snmp")
        else ModbusTcpServer(controller, OwnPlace(IMPOSSIBLE, 0), (), DescriptorBudget())
    )
    old = with_value(controller.engine.settings, "snmp.read_community", "watch")
    under_way = server.adopt(old, with_value(old, switch, True))
    assert under_way is not None
    with pytest.raises((ValueError, TypeError), match="null"):
        await under_way
    await server.close()
    assert server.port is None
