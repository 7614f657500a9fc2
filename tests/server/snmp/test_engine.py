"""The SNMP engine as managers know it: one ID, boots and a time that only grow."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.runtime.clock import SystemClock
from leverframe.notify.snmp_identity import MAX_BOOTS, EngineIdentity, boots_after, engine_id
from leverframe.storage.store import MemoryStore
from tests.ports import free_port
from tests.server.snmp.net_snmp import ENTERPRISE, TrapReceiver
from tests.server.snmp.test_agent import running, send_command

pytestmark = pytest.mark.needs_program("snmptrapd")
needs_perl = pytest.mark.skipif(
    not shutil.which("perl") or subprocess.call(["perl", "-MNetSNMP::TrapReceiver", "-e1"]) != 0,
    reason="needs libsnmp-perl; the Debian package is in requirements/debian.txt",
)

KEYS = "snmpv3=keeper*auth-key-123*priv-key-123"
RULE = "event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1"
#: Asks within snmptrapd, before the first trap and after every trap, in the same process.
POLLING = """
use SNMP;
use NetSNMP::TrapReceiver;
$| = 1;
my $session = new SNMP::Session(
    DestHost => "127.0.0.1:{port}", Version => 3, SecLevel => "authPriv", SecName => "keeper",
    AuthProto => "SHA-256", AuthPass => "auth-key-123", PrivProto => "AES",
    PrivPass => "priv-key-123", Timeout => 2000000, Retries => 0);
sub poll {{
    my $value = $session->get("{enterprise}.1.9.0");
    print "$_[0] polled: ", $session->{{ErrorStr}} || "fine", "\\n";
}}
poll("first");
NetSNMP::TrapReceiver::register("all", sub {{ poll("trap"); return NETSNMPTRAPD_HANDLER_OK; }});
"""


def receiver_settings(mac: str) -> list[str]:
    """What a receiver has to know of the controller's traps."""
    return [
        f"createUser -e 0x{engine_id(mac).hex()} keeper SHA-256 auth-key-123 AES priv-key-123",
        "authUser log,execute keeper priv",
    ]


@needs_perl
async def test_one_manager_polls_and_receives_traps_in_one_process(tmp_path: Path) -> None:
    port = free_port()
    receiver = TrapReceiver(tmp_path, port)
    commands = f"snmp=1*watch*&{KEYS}&snmptrap=1*127.0.0.1*{port}*"
    async with running(commands, free_port()) as (controller, agent, mac):
        await send_command(controller, RULE)
        script = tmp_path / "poll.pl"
        script.write_text(POLLING.format(port=agent.port, enterprise=ENTERPRISE))
        await receiver.start(*receiver_settings(mac), f'perl do "{script}";')
        for number in range(1, 5):
            if number == 3:
                # Another community recreates the agent, and is no new start for a manager.
                await send_command(controller, "snmp=1*look*")
            await send_command(controller, f"vout0={number % 2}")
            assert "fine" in await receiver.line_with("trap polled"), number
    await receiver.stop()


async def test_traps_are_received_after_a_start_with_the_clock_an_hour_back(
    tmp_path: Path,
) -> None:
    port, store = free_port(), MemoryStore()
    receiver = TrapReceiver(tmp_path, port)
    commands = f"{KEYS}&snmptrap=1*127.0.0.1*{port}*"
    async with running(commands, store=store) as (controller, _, mac):
        await send_command(controller, RULE)
        await receiver.start(*receiver_settings(mac))
        await send_command(controller, "vout0=1")
        await receiver.line_with(f"{ENTERPRISE}.0.1")
    an_hour_back = SystemClock(wall=lambda: time.time() - 3600)
    async with running("vout0=0", store=store, clock=an_hour_back) as (controller, _, _):
        await send_command(controller, "vout0=1")
        await receiver.line_with(f"{ENTERPRISE}.0.1")
    await receiver.stop()


async def test_boots_are_stored_and_grow_at_every_start() -> None:
    store = MemoryStore()
    seen = []
    for wall in (0.0, 2e9, 1.8e9, 0.0, 9e9):
        async with running("vout0=0", store=store, clock=SystemClock(wall=lambda wall=wall: wall)):
            seen.append(store.load().kept["snmp.boots"])
    assert seen[0] == 1
    assert seen == sorted(set(seen))


@given(st.integers(0, MAX_BOOTS - 1) | st.none(), st.floats(-1e12, 1e12))
def test_boots_grow_whatever_the_clock_shows_and_fit(stored: int | None, wall: float) -> None:
    boots = boots_after(stored, wall)
    assert max(1, (stored or 0) + 1) <= boots <= MAX_BOOTS
    assert boots_after(MAX_BOOTS, wall) == MAX_BOOTS


def test_time_of_an_engine_counts_from_its_start() -> None:
    identity = EngineIdentity(b"x", 1, started=time.monotonic() - 90.5)
    assert 90 <= identity.time_s() <= 120
