"""Unmodified clients find each controller of a node by name, by address and by port."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tinytoolslib.models import DeviceModel, get_version

from leverframe.testing.transport import LOOP_THREAD
from tests.fleet.loop_node import LoopNode, loop_node
from tests.patience import PATIENCE_S
from tests.ports import free_ports

VERSIONS = {
    **{"old": ("3.0", "1.58a"), "early": ("3.5", "1.24")},
    **{"middle": ("3.5", "1.49"), "new": ("3.9", "1.75")},
}
SYS_NAME = "1.3.6.1.2.1.1.5.0"
FIRST_OUTPUT = ".1.3.6.1.4.1.7616.1.1.0"


class Served:
    """A node with a controller of each version, which has an address and a port of its own."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self.ports = dict(zip(VERSIONS, free_ports(len(VERSIONS)), strict=True))
        self.addresses = {name: f"127.0.0.{61 + n}" for n, name in enumerate(VERSIONS)}
        self.modbus_port, self.snmp_port = free_ports(2)
        self.node: LoopNode = LOOP_THREAD.run(self._start())

    async def _start(self) -> LoopNode:
        node = await self._stack.enter_async_context(
            loop_node(modbus_port=self.modbus_port, snmp_port=self.snmp_port)
        )
        await node.node.door.listen("127.0.0.1", 0)
        for name, (hw, sw) in VERSIONS.items():
            await node.post(
                "add",
                name=name,
                hw=hw,
                sw=sw,
                address=self.addresses[name],
                port=self.ports[name],
            )
        return node

    def send(self, command: str, name: str) -> Any:
        return LOOP_THREAD.run(self.node.post("send", command=command, name=name))

    def place(self, name: str, way: str) -> tuple[str, int]:
        """Where a client has to ask."""
        common = self.node.node.door.port
        return {
            "name": (f"{name}.localhost", common),
            "address": (self.addresses[name], common),
            "port": ("127.0.0.1", self.ports[name]),
        }[way]

    def states(self, label: str) -> dict[str, Any]:
        members = self.node.node.members.items()
        return {name: member.controller.engine.values[label] for name, member in members}

    def close(self) -> None:
        LOOP_THREAD.run(self._stack.aclose())


@pytest.fixture(scope="module")
def fleet() -> Iterator[Served]:
    fleet = Served()
    yield fleet
    fleet.close()


@pytest.fixture
def wildcard_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name below localhost be this machine, as wildcard DNS does."""
    resolve = socket.getaddrinfo

    def resolve_locally(host: Any, *rest: Any, **options: Any) -> Any:
        is_ours = isinstance(host, str) and host.endswith(".localhost")
        return resolve("127.0.0.1" if is_ours else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve_locally)


@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.parametrize("way", ["name", "address", "port"])
@pytest.mark.usefixtures("wildcard_names")
def test_makers_library_works_by_each_way(fleet: Served, name: str, way: str) -> None:
    host, port = fleet.place(name, way)
    found = get_version(host, port=port, with_device=True)
    assert found is not None
    assert (found["hardware_version"], found["software_version"]) == VERSIONS[name]
    device: DeviceModel = found["device_model"]
    for state in (1, 0):
        device.set_out(2, state)
        assert device.get_all()["out2"] == state
        assert fleet.states("OUT2") == {**dict.fromkeys(VERSIONS, 0), name: state}


def run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S).stdout


@pytest.mark.needs_program("mbpoll")
def test_mbpoll_reads_and_writes_each_by_its_address(fleet: Served) -> None:
    # Old hardware has no Modbus TCP.
    assert fleet.send("stm.cgi?modbuson=1", "old")["refused"] == 1
    names = [name for name in VERSIONS if name != "old"]
    asked = ("mbpoll", "-o", "10", "-m", "tcp", "-p", str(fleet.modbus_port), "-0", "-1")
    asked += ("-t", "0", "-r", "0")
    for name in names:
        assert fleet.send("stm.cgi?modbuson=1", name)["done"] == 1
        fleet.send("outs.cgi?out0=0", name)
    for name in names:
        assert "Written 1 references." in run(*asked, fleet.addresses[name], "1")
        report = {one: "[0]: \t1" in run(*asked, fleet.addresses[one]) for one in names}
        assert report == {one: one == name for one in names}
        assert "Written 1 references." in run(*asked, fleet.addresses[name], "0")


@pytest.mark.needs_program("snmpset")
def test_net_snmp_reads_and_sets_each_by_its_address(fleet: Served) -> None:
    def ask(program: str, community: str, name: str, *rest: str) -> str:
        place = f"{fleet.addresses[name]}:{fleet.snmp_port}"
        return run(program, "-v2c", "-c", community, "-Oqv", "-t2", place, *rest).strip().strip('"')

    for name in VERSIONS:
        assert fleet.send("stm.cgi?snmp=1*watch*change", name)["done"] == 1
        fleet.send("outs.cgi?out0=0", name)
    for name in VERSIONS:
        assert ask("snmpget", "watch", name, SYS_NAME) == name
        assert ask("snmpset", "change", name, FIRST_OUTPUT, "i", "1") == "1"
        report = {one: ask("snmpget", "watch", one, FIRST_OUTPUT) for one in VERSIONS}
        assert report == {one: str(int(one == name)) for one in VERSIONS}
        assert ask("snmpset", "change", name, FIRST_OUTPUT, "i", "0") == "0"


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["name", "address", "port"])
@pytest.mark.usefixtures("wildcard_names")
def test_labgrid_switches_power_by_each_way(fleet: Served, way: str) -> None:
    # Here, because it loads all of its drivers: a second and a half.
    from labgrid import Target
    from labgrid.driver import NetworkPowerDriver
    from labgrid.resource import NetworkPowerPort

    for name in VERSIONS:
        target = Target(name)
        host, port = fleet.place(name, way)
        NetworkPowerPort(target, None, model="tinycontrol", host=f"http://{host}:{port}/", index=3)
        power = NetworkPowerDriver(target, None, delay=0.0)
        target.activate(power)
        for switch, state in ((power.on, 1), (power.off, 0), (power.cycle, 1), (power.off, 0)):
            switch()
            assert power.get() is bool(state)
            assert fleet.states("OUT3") == {**dict.fromkeys(VERSIONS, 0), name: state}
