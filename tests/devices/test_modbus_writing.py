"""Writing to a slave that others wrote, from commands and rules of a whole controller."""

import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import pytest

from leverframe.devices.simulated.simulated_board import SimulatedBoard
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.cases import for_each
from tests.devices.modbus_ports import connect_modbus
from tests.ports import free_port

from .pty_pair import PtyPair
from .slaves import running, tcp_slaves
from .waiting import until

#: Coils from 10 on and holding registers from 100 on; nothing else.
RUNS = [[[10, [0, 0]]], [], [[100, [200, *[0] * 9]]], []]
SLAVE = 7
#: The codes of `mod_write`.
COIL, INT16, UINT16, INT32, UINT32, FLOAT = range(6)


class Slave(NamedTuple):
    #: Where the master finds it.
    port: str
    process: "subprocess.Popen[str]"


@contextmanager
def running_slave() -> Iterator[Slave]:
    """One device of pymodbus on a serial port."""
    pair = PtyPair()
    try:
        with running(pair.first, [{"id": SLAVE, "runs": RUNS}]) as process:
            yield Slave(pair.second, process)
    finally:
        pair.close()


@pytest.fixture
def slave() -> Iterator[Slave]:
    with running_slave() as one:
        yield one


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """The same for all tests that need nothing else of it."""
    with running_slave() as one:
        yield one.port


@asynccontextmanager
async def on_bus(port: str | None, store: MemoryStore | None = None) -> AsyncIterator[LoopTwin]:
    twin = await LoopTwin.start(store=store)
    services = await connect_modbus(twin.controller, port)
    yield twin
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()


async def set_up(twin: LoopTwin) -> None:
    """Slot 1 is custom1, whose first reading is register 100 and is shown as m1."""
    mapping = "*".join(["10", "11", *["00"] * 28])
    body = b"&m00=Setpoint*x*0*100*3*0*0&m01=Valve**0*10*1*0*0&&"
    await twin.ok("/post.cgi?mod_custom_save", "POST", body)
    await twin.ok(f"/stm.cgi?modbus_sensor=0100&modbusid=0{SLAVE}&modbusmapping={mapping}")


async def shows(twin: LoopTwin, label: str, value: float) -> None:
    """Wait until the polling, which knows nothing of writes, has read it."""
    await until(lambda: twin.controller.engine.values[label] == value)


def last_write(state: dict[str, Any]) -> tuple[str, float | None]:
    report = state["modbus_writes"][-1]
    return report["outcome"], report["read_back"]


@pytest.mark.parametrize(
    ("register", "kind", "sent", "value"),
    [
        (11, COIL, "1", 1.0),
        (100, INT16, "-215", -215.0),
        (100, UINT16, "65535", 65535.0),
        (100, INT32, "-123456", -123456.0),
        (100, UINT32, "4000000000", 4e9),
        (100, FLOAT, "21500", 21.5),
    ],
)
async def test_command_writes_and_is_answered_when_it_was_read_back(
    port: str, register: int, kind: int, sent: str, value: float
) -> None:
    async with on_bus(port) as twin:
        await set_up(twin)
        for endian in range(1 if kind == COIL else 4):
            place = register + 2 * endian
            await twin.ok(f"/stm.cgi?mod_write=1*{place}*{kind}*{sent}*{endian}")
            assert last_write(await twin.state()) == ("written", value)
        assert (await twin.json("/health"))["status"] == "ok"


async def test_polling_reads_the_written_value(port: str) -> None:
    async with on_bus(port) as twin:
        await set_up(twin)
        await twin.ok(f"/stm.cgi?mod_write=1*100*{INT16}*215")
        await shows(twin, "m1", 215.0)
        await twin.ok(f"/stm.cgi?mod_write=1*10*{COIL}*1")
        await shows(twin, "m2", 1.0)


async def test_audit_shows_who_wrote_and_the_journal_what_came_of_it(port: str) -> None:
    async with on_bus(port) as twin:
        await set_up(twin)
        await twin.ok(f"/stm.cgi?mod_write=1*100*{INT16}*215")
        (entry,) = [
            entry
            for entry in await twin.json("/api/audit")
            if any(change["path"] == "Modbus slot 1 register 100" for change in entry["changes"])
        ]
        assert entry["source"] == "127.0.0.1"
        assert entry["changes"][0]["new"] == 215.0
        texts = [(one["cause"], one["text"]) for one in await twin.json("/api/log")]
        assert ("command", "writes 215 to Modbus slot 1 register 100") in texts
        assert ("modbus", "215 to slot 1 register 100: written and read back") in texts


async def test_register_that_the_device_lacks_is_refused_with_code_and_words(port: str) -> None:
    async with on_bus(port) as twin:
        await set_up(twin)
        problem = await twin.refused(f"/stm.cgi?mod_write=1*500*{INT16}*215", 502)
        assert "exception 2, illegal data address" in problem["detail"]
        assert "Modbus slot 1 register 500" in (await twin.json("/health"))["troubles"]


async def test_rule_switches_a_coil_on_and_off(port: str) -> None:
    async with on_bus(port) as twin:
        await set_up(twin)
        await twin.ok("/stm.cgi?mod_write_set1=Valve*1*10*0*1*0")
        # MODBUS WRITE 1 while DS1 is at least 25 degrees.
        await twin.ok("/inpa.cgi?event=0*10*0*2500*0*0*200*0*0*0*0*0*1*0*0*0&eventon=0*1")
        await twin.ok("/sim.cgi?DS1=26")
        await shows(twin, "m2", 1.0)
        await twin.ok("/sim.cgi?DS1=24")
        await shows(twin, "m2", 0.0)
        (write,) = (await twin.state())["modbus_writes"]
        assert (write["reason"], write["outcome"]) == ("rule 1", "written")


async def test_initial_value_of_a_rule_is_written_when_the_bus_is_ready(port: str) -> None:
    store = MemoryStore()
    async with on_bus(None, store) as twin:
        await set_up(twin)
        await twin.ok("/stm.cgi?mod_write_set1=Night*1*100*1*180*215")
        await twin.ok("/inpa.cgi?event=0*0*0*1*0*0*200*0*0*0*0*0*1*0*0*0")
        await twin.ok("/inpa.cgi?eventon=0*1")
    async with on_bus(port, store) as twin:
        await shows(twin, "m1", 180.0)


async def test_silent_slave_is_reported_to_the_requester_and_a_problem_until_it_answers(
    slave: Slave,
) -> None:
    async with on_bus(slave.port) as twin:
        await set_up(twin)
        await shows(twin, "m1", 200.0)
        slave.process.send_signal(signal.SIGSTOP)
        problem = await twin.refused(f"/stm.cgi?mod_write=1*100*{INT16}*215", 502)
        assert "does not answer; check the wiring" in problem["detail"]
        assert "Given up after 2 attempts" in twin.controller.troubles["Modbus slot 1 register 100"]
        slave.process.send_signal(signal.SIGCONT)
        await twin.ok(f"/stm.cgi?mod_write=1*100*{INT16}*216")
        assert "Modbus slot 1 register 100" not in twin.controller.troubles
        await shows(twin, "m1", 216.0)


async def test_write_of_a_rule_reaches_a_slave_that_was_away(slave: Slave) -> None:
    async with on_bus(slave.port) as twin:
        await set_up(twin)
        await shows(twin, "m1", 200.0)
        await twin.ok("/stm.cgi?mod_write_set1=Night*1*100*1*180*215")
        await twin.ok("/inpa.cgi?event=0*104*0*1*0*0*200*0*0*0*0*0*1*0*0*0&eventon=0*1")
        slave.process.send_signal(signal.SIGSTOP)
        await twin.ok("/outs.cgi?vout0=1")
        await until(lambda: "Modbus slot 1 register 100" in twin.controller.troubles)
        slave.process.send_signal(signal.SIGCONT)
        await shows(twin, "m1", 180.0)
        await until(lambda: "Modbus slot 1 register 100" not in twin.controller.troubles)


# --- without a bus -------------------------------------------------------------------------------


@for_each(
    ("request_", "status"),
    [
        ("mod_write=2*100*1*215", 409),
        ("mod_write_run=21", 409),
        ("mod_write=0*100*1*215", 400),
        ("mod_write=1*100*1*40000", 400),
        ("mod_write=1*100*0*2", 400),
        ("mod_write=1*65536*1*1", 400),
        ("mod_write=1*100*1*215&oname=0Pump", 400),
        ("oname=0Pump&mod_write=1*100*1*215", 400),
        ("mod_write=1*100*1*1&mod_write=1*101*1*1", 400),
    ],
)
async def test_impossible_write_is_refused_before_any_change(request_: str, status: int) -> None:
    async with on_bus(None) as twin:
        await twin.ok("/stm.cgi?modbus_sensor=06")
        await twin.refused(f"/stm.cgi?{request_}", status)
        assert (await twin.state())["modbus_writes"] == []
        assert (await twin.settings())["outputs"][0]["name"] == ""


async def test_lock_keeps_commands_from_modules_and_lets_rules_through() -> None:
    async with on_bus(None) as twin:
        await twin.ok("/stm.cgi?modbus_sensor=06&mod_write_set1=Valve*1*10*0*1*0")
        await twin.ok("/inpa.cgi?event=0*104*0*1*0*0*200*0*0*0*0*0*1*0*0*0&eventon=0*1")
        await twin.ok("/stm.cgi?outblock=1")
        await twin.refused("/stm.cgi?mod_write=1*10*0*1", 423)
        await twin.refused("/stm.cgi?mod_write_run=11", 423)
        await twin.ok("/outs.cgi?vout0=1")
        assert last_write(await twin.state()) == ("written", 1.0)


async def test_modules_of_a_simulated_board_take_everything_in_the_order_of_virtual_time() -> None:
    async with on_bus(None) as twin:
        bench = twin.controller.board.bench
        assert bench is not None
        await twin.ok("/stm.cgi?modbus_sensor=06&mod_write_set3=Night*1*100*5*18000*21500")
        await twin.ok("/stm.cgi?mod_write_run=31")
        await twin.ok("/stm.cgi?mod_write_run=30")
        assert bench.modules == {"slot 1 register 100": 21.5}
        assert [driven.value for driven in bench.history if "slot 1" in driven.what] == [18.0, 21.5]


async def test_real_board_without_a_bus_says_what_to_configure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SimulatedBoard, "bench", None)
    async with on_bus(None) as twin:
        await twin.ok("/stm.cgi?modbus_sensor=06")
        problem = await twin.refused("/stm.cgi?mod_write=1*100*1*215", 502)
        assert "serial_modbus" in problem["detail"]


async def test_rule_writes_to_a_device_in_the_network() -> None:
    with tcp_slaves([{"id": SLAVE, "runs": RUNS}], free_port()) as address:
        async with on_bus(None) as twin:
            await set_up(twin)
            await twin.ok(f"/stm.cgi?modbushost0={address}")
            await twin.ok("/stm.cgi?mod_write_set1=Night*1*100*1*180*215")
            await twin.ok("/inpa.cgi?event=0*104*0*1*0*0*200*0*0*0*0*0*1*0*0*0&eventon=0*1")
            await twin.ok("/outs.cgi?vout0=1")
            await shows(twin, "m1", 180.0)
            await twin.ok("/outs.cgi?vout0=0")
            await shows(twin, "m1", 215.0)
            # A register that it lacks, with its words.
            problem = await twin.refused(f"/stm.cgi?mod_write=1*500*{INT16}*1", 502)
            assert "exception 2" in problem["detail"]
