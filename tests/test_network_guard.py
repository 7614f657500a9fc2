"""Tests stay on this machine: what controllers send to other addresses is held back."""

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC
from pathlib import Path

import pytest

from leverframe.core.engine.calls import Notify, PingHost
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.core.runtime.outgoing import CHANNELS, Targets
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.firmware_check import ask_for_release
from leverframe.host.ports import connect_bus
from leverframe.host.services import Sending
from leverframe.notify.channel import CannotSend, Trust
from leverframe.storage.store import MemoryStore
from tests.cases import for_each
from tests.core.runtime.test_channels import perform
from tests.network_guard import sitecustomize as network_guard
from tests.notify.broker import until

#: Of the addresses for examples; no machine has it.
ELSEWHERE = "198.51.100.77"


def list_held_back(count: int) -> list[str]:
    return network_guard.held_back[count:]


@for_each("host", [ELSEWHERE, "2001:db8::77", "8.8.8.8", "255.255.255.255", "224.0.0.1"])
def test_nothing_is_sent_to_another_machine(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        with pytest.raises(OSError, match="Network is unreachable"):
            sender.sendto(b"x", (host, 9))
        with pytest.raises(OSError, match="Network is unreachable"):
            sender.sendmsg([b"x"], [], 0, (host, 9))
    with socket.socket(family) as connecting:
        assert _error_of(lambda: connecting.connect((host, 9))) == errno.ENETUNREACH
        assert _error_of(lambda: connecting.connect_ex((host, 9))) == errno.ENETUNREACH


def _error_of(attempt: Callable[[], object]) -> int | None:
    try:
        attempt()
    except OSError as error:
        return error.errno
    return None


@for_each("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1", "0.0.0.0"])
def test_this_machine_stays_reachable(host: str) -> None:
    assert network_guard.is_here(host)


def test_no_name_server_is_asked() -> None:
    assert os.environ["RES_OPTIONS"] == network_guard.ASK_NO_NAME_SERVER
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("unknown.name.example", 80)


async def _http(built: ControllerHost) -> None:
    url = f"http://{ELSEWHERE}/x"
    await perform(built.controller, f"http1=http%3A%2F%2F{ELSEWHERE}%2Fx")
    built.controller.on_notify(Notify("http", 1, True, "test", text=url))


async def _email(built: ControllerHost) -> None:
    await perform(built.controller, f"em1={ELSEWHERE}&em5=a@example.org&em6=b@example.org")
    built.controller.on_notify(Notify("email", 0, True, "test", text="hot"))


async def _trap(built: ControllerHost) -> None:
    await perform(built.controller, f"snmptrap=1*{ELSEWHERE}*162*public")
    built.controller.on_notify(Notify("snmp", 0, True, "test"))


async def _mqtt(built: ControllerHost) -> None:
    await perform(built.controller, f"mqtt=1*{ELSEWHERE}*1883***cellar*0")


async def _modbus(built: ControllerHost) -> None:
    await perform(built.controller, f"modbus_sensor=01&modbushost0={ELSEWHERE}:502")


async def _ping(built: ControllerHost) -> None:
    built.controller.on_ping(PingHost(0, ELSEWHERE, 5.0))


async def _release(built: ControllerHost) -> None:
    with pytest.raises(CannotSend):
        await ask_for_release(f"http://{ELSEWHERE}/", Trust(), Targets().channel("release"))


ACTS: dict[str, Callable[[ControllerHost], Awaitable[None]]] = {
    "http": _http,
    "release": _release,
    "mqtt": _mqtt,
    "email": _email,
    "trap": _trap,
    "modbus": _modbus,
    "ping": _ping,
}


@for_each("channel", list(CHANNELS))
async def test_messages_of_every_channel_are_blocked(channel: str) -> None:
    sending = Sending(capture=False)
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC, sending=sending)
    bus = connect_bus(built.controller, None, Targets())
    before = len(network_guard.held_back)
    try:
        await ACTS[channel](built)
        await until(lambda: ELSEWHERE in list_held_back(before))
    finally:
        for service in reversed(bus):
            await service.close()
        await built.stop()


def test_processes_that_tests_start_are_held_back_as_well(tmp_path: Path) -> None:
    program = f"""
import asyncio, json, sys
from leverframe.core.runtime.outgoing import Targets
try:
    import uvloop
    run = uvloop.run
except ImportError:
    run = asyncio.run

async def main():
    try:
        await Targets().channel("modbus").connect({ELSEWHERE!r}, 502)
    except OSError as error:
        print(json.dumps([error.errno, sys.modules["sitecustomize"].held_back]))

run(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert json.loads(ended.stdout) == [errno.ENETUNREACH, [ELSEWHERE]]


def test_started_processes_see_what_was_held_back_under_both_names() -> None:
    program = (
        "import sitecustomize\n"
        "from tests.network_guard import sitecustomize as of_tests\n"
        "assert of_tests is not sitecustomize\n"
        "assert of_tests.held_back is sitecustomize.held_back\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[1])
