"""Unmodified clients find each controller of a node by name, by address and by port."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tinytoolslib.models import DeviceModel, get_version

from leverframe.testing.loop_thread import LOOP_THREAD
from tests.fleet.loop_node import LoopNode, loop_node
from tests.ports import free_port, free_ports

VERSIONS = {"old": ("3.0", "1.58a"), "middle": ("3.5", "1.49"), "new": ("3.9", "1.75")}


class Served:
    """A node with a controller of each version, which has an address and a port of its own."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self.ports = dict(zip(VERSIONS, free_ports(len(VERSIONS)), strict=True))
        self.addresses = {name: f"127.0.0.{61 + n}" for n, name in enumerate(VERSIONS)}
        self.modbus_port = free_port()
        self.node: LoopNode = LOOP_THREAD.run(self._start())

    async def _start(self) -> LoopNode:
        node = await self._stack.enter_async_context(loop_node(modbus_port=self.modbus_port))
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

    def close(self) -> None:
        LOOP_THREAD.run(self._stack.aclose())


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.close()


@pytest.fixture
def wildcard_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name below localhost be this machine, as wildcard DNS does."""
    resolve = socket.getaddrinfo

    def resolved(host: Any, *rest: Any, **options: Any) -> Any:
        is_ours = isinstance(host, str) and host.endswith(".localhost")
        return resolve("127.0.0.1" if is_ours else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.parametrize("way", ["name", "address", "port"])
@pytest.mark.usefixtures("wildcard_names")
def test_the_makers_library_works_by_each_way(served: Served, name: str, way: str) -> None:
    common = served.node.node.door.port
    host, port = {
        "name": (f"{name}.localhost", common),
        "address": (served.addresses[name], common),
        "port": ("127.0.0.1", served.ports[name]),
    }[way]
    found = get_version(host, port=port, with_device=True)
    assert found is not None
    assert (found["hardware_version"], found["software_version"]) == VERSIONS[name]
    device: DeviceModel = found["device_model"]
    for state in (1, 0):
        device.set_out(2, state)
        assert device.get_all()["out2"] == state
        on = {
            one: member.controller.engine.values["OUT2"]
            for one, member in served.node.node.members.items()
        }
        assert on == {**dict.fromkeys(VERSIONS, 0), name: state}


@pytest.mark.needs_program("mbpoll")
def test_mbpoll_reads_each_by_its_address(served: Served) -> None:
    names = ("middle", "new")
    for number, name in enumerate(names):
        assert served.send("stm.cgi?modbuson=1", name)["done"] == 1
        served.send(f"outs.cgi?out0={number}", name)
    for number, name in enumerate(names):
        asked = ("-m", "tcp", "-p", str(served.modbus_port), "-0", "-1", "-t", "0", "-r", "0")
        told = subprocess.run(
            ["mbpoll", *asked, served.addresses[name]], capture_output=True, text=True, timeout=20
        )
        assert f"[0]: \t{number}" in told.stdout, told
