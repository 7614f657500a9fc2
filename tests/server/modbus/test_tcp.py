"""The Modbus TCP server: what its addresses hold, who may write, that nothing brings it down."""

import asyncio
import math
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_network

import pytest
from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ModbusException

from leverframe.core.engine.journal import Cause
from leverframe.core.labels import READINGS
from leverframe.core.profile import Profile
from leverframe.core.tree import with_value
from leverframe.devices.wire.modbus import (
    COILS,
    FLOATS_AT,
    HOLDING_REGISTERS,
    LONGS_AT,
    SCALES,
    TARGET_AT,
    TARGET_FLOAT_AT,
    WHOLES_AT,
)
from leverframe.host.controller.hooks import Hindrance
from leverframe.host.controller.version_switch import install
from leverframe.server import modbus_tcp
from leverframe.server.fair_shares import SHARE, DescriptorBudget
from leverframe.server.modbus_tcp import ModbusTcpServer, Network
from leverframe.server.shared_ports import OwnPlace
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.full_disk import Disk
from tests.patience import PATIENCE_S
from tests.server.modbus.fuzzed_frames import fuzz

HOST = "127.0.0.1"
LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1"))


class ServedByModbus:
    def __init__(self, twin: LoopTwin, server: ModbusTcpServer) -> None:
        self.twin = twin
        self.server = server

    @property
    def port(self) -> int:
        assert self.server.port is not None
        return self.server.port

    async def ask(self, pdu: str) -> str:
        """One request over a connection of its own; request and answer in hexadecimal."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        body = bytes.fromhex(pdu)
        writer.write(struct.pack(">HHHB", 7, 0, len(body) + 1, 9) + body)
        head = await reader.readexactly(7)
        transaction, protocol, length, unit = struct.unpack(">HHHB", head)
        assert (transaction, protocol, unit) == (7, 0, 9)
        answer = await reader.readexactly(length - 1)
        writer.close()
        await writer.wait_closed()
        return answer.hex()


@asynccontextmanager
async def serve(
    profile: Profile = Profile(),  # noqa: B008
    writers: Sequence[Network] = LOOPBACK,
    store: MemoryStore | None = None,
    descriptors: DescriptorBudget | None = None,
) -> AsyncIterator[ServedByModbus]:
    twin = await LoopTwin.start(profile, store=store)
    descriptors = descriptors or DescriptorBudget()
    server = ModbusTcpServer(twin.controller, OwnPlace(HOST, 0), writers, descriptors)
    twin.controller.settings_watchers.append(server.adopt)
    await twin.ok("/stm.cgi?modbuson=1")
    yield ServedByModbus(twin, server)
    await server.close()
    await twin.controller.stop()


async def has_ended(reader: asyncio.StreamReader) -> bool:
    """Has the server ended the connection? Waits for whatever it does."""
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True


@asynccontextmanager
async def peer(port: int) -> AsyncIterator[AsyncModbusTcpClient]:
    client = AsyncModbusTcpClient(HOST, port=port)
    assert await client.connect()
    yield client
    client.close()


async def test_client_that_others_wrote_reads_and_writes() -> None:
    async with serve() as it, peer(it.port) as client:
        await it.twin.ok("/sim.cgi?DS1=21.5&VCC=12.34&INPD2=0&m30=-7.5")
        assert not (await client.write_coils(0, [True, False, True])).isError()
        assert not (await client.write_coil(7, True)).isError()
        coils = (await client.read_coils(0, count=18)).bits[:18]
        assert [n for n, bit in enumerate(coils) if bit] == [0, 2, 7]
        inputs = (await client.read_discrete_inputs(0, count=4)).bits[:4]
        assert inputs == [True, False, True, True]
        registers = (await client.read_input_registers(0, count=120)).registers
        assert floats_in(registers)[0] == pytest.approx(12.34)
        state = await it.twin.state()
        assert (state["OUT0"], state["OUT1"], state["OUT2"], state["PWM1"]) == (1, 0, 1, 1)


def floats_in(registers: list[int]) -> list[float]:
    data = b"".join(register.to_bytes(2, "big") for register in registers)
    return list(struct.unpack(f">{len(registers) // 2}f", data))


async def test_all_readings_are_there_as_floats_and_as_whole_numbers() -> None:
    assert sorted(SCALES) == sorted(READINGS)
    async with serve() as it, peer(it.port) as client:
        await it.twin.ok("/sim.cgi?DS1=21.57&VCC=12.34&TEMP=31&m1=-7.5&m2=99999&CO2=800")
        registers = []
        for at, count in ((0, 100), (100, 2 * len(SCALES) - 100)):
            registers += (await client.read_input_registers(at, count=count)).registers
        wholes = (await client.read_input_registers(WHOLES_AT, count=len(SCALES))).registers
        values = dict(zip(SCALES, floats_in(registers), strict=True))
        whole = {
            label: number - 65536 if number > 32767 else number
            for label, number in zip(SCALES, wholes, strict=True)
        }
        state = await it.twin.state()
        for label in READINGS:
            if state[label] is None:
                assert math.isnan(values[label])
                assert whole[label] == -32768
            else:
                assert values[label] == pytest.approx(state[label], rel=1e-6)
        assert (whole["DS1"], whole["VCC"], whole["m1"], whole["CO2"]) == (216, 1234, -75, 800)
        assert whole["m2"] == 32767


def test_published_registers_keep_their_places() -> None:
    """Addresses out of the reference of 0.1.0, and of what came behind them."""
    assert [COILS.index(label) for label in ("OUT0", "PWM0", "EVENT1", "EVENT8")] == [0, 6, 10, 17]
    assert (COILS.index("ENERGY1"), len(COILS)) == (18, 24)
    places = list(SCALES)
    assert [places.index(label) for label in ("VCC", "ENERGY1", "m1", "m30")] == [0, 38, 44, 73]
    assert (FLOATS_AT, WHOLES_AT, LONGS_AT) == (0, 1000, 2000)
    assert (TARGET_AT, TARGET_FLOAT_AT, HOLDING_REGISTERS) == (4, 5, 7)


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("01 0000 0019", "8102"),
        ("01 0018 0001", "8102"),
        ("02 0000 0005", "8202"),
        ("03 0006 0002", "8302"),
        ("04 0000 0000", "8403"),
        ("04 03e7 0002", "8402"),
        ("04 0432 0001", "8402"),
        ("04 0864 0001", "8402"),
        ("05 0018 ff00", "8502"),
        ("05 0000 1234", "8503"),
        ("06 0005 0001", "8602"),
        ("06 0006 0001", "8602"),
        ("06 0007 0001", "8602"),
        ("06 0000 0065", "8603"),
        ("0f 0017 0002 01 03", "8f02"),
        ("10 0004 0002 04 0001 0002", "9002"),
        ("10 0006 0002 04 0001 0002", "9002"),
        # Not a number, infinite, and greater than any target.
        ("10 0005 0002 04 7fc0 0000", "9003"),
        ("10 0005 0002 04 ff80 0000", "9003"),
        ("10 0005 0002 04 7f00 0000", "9003"),
        ("2b 0e 01 00", "ab01"),
        ("08 0000 0000", "8801"),
    ],
)
async def test_missing_register_is_an_exception(request_: str, answer: str) -> None:
    async with serve() as it:
        before = await it.twin.state()
        assert await it.ask(request_) == answer
        after = await it.twin.state()
        assert {key: after[key] for key in READINGS} == {key: before[key] for key in READINGS}
        assert await it.twin.outputs() == "000000"


async def test_duties_are_holding_registers_and_on_disk_before_the_answer() -> None:
    store = MemoryStore()
    async with serve(store=store) as it, peer(it.port) as client:
        assert not (await client.write_register(1, 75)).isError()
        assert store.load().settings["pwm.1.duty"] == 75
        assert not (await client.write_registers(2, [10, 20])).isError()
        assert (await client.read_holding_registers(0, count=4)).registers == [50, 75, 10, 20]


def longs_in(registers: list[int]) -> list[int]:
    data = b"".join(register.to_bytes(2, "big") for register in registers)
    return list(struct.unpack(f">{len(registers) // 2}i", data))


async def test_counters_have_all_their_digits_in_32_bits() -> None:
    async with serve() as it, peer(it.port) as client:
        await it.twin.ok("/inpa.cgi?powset=1123456789&powset=24000000000")
        await it.twin.ok("/sim.cgi?m1=-1234567.891&DS1=21.57")
        registers = []
        for at, count in ((0, 100), (100, 2 * len(SCALES) - 100)):
            registers += (await client.read_input_registers(LONGS_AT + at, count=count)).registers
        longs = dict(zip(SCALES, longs_in(registers), strict=True))
        assert longs["ENERGY2"] == 123456789
        assert (longs["m1"], longs["DS1"]) == (-1234567891, 21570)
        # As near as can be, and absent.
        assert longs["ENERGY3"] == 0x7FFFFFFF
        assert longs["DS8"] == -0x80000000


async def test_energy_counter_is_reset_by_a_coil_that_reads_0() -> None:
    async with serve() as it, peer(it.port) as client:
        await it.twin.ok("/inpa.cgi?powset=0111000&powset=1222000&powset=5666000")
        # The lock is for outputs.
        await it.twin.ok("/stm.cgi?outblock=1")
        assert (await client.read_coils(18, count=6)).bits[:6] == [False] * 6
        assert not (await client.write_coils(18, [True, False])).isError()
        assert not (await client.write_coil(23, True)).isError()
        assert not (await client.write_coil(19, False)).isError()
        state = await it.twin.state()
        assert [state[f"ENERGY{n}"] for n in (1, 2, 6)] == [0, 222, 0]
        audit = await it.twin.json("/api/audit")
        assert any("127.0.0.1" in str(entry) and "ENERGY6" in str(entry) for entry in audit)


async def test_counter_that_a_version_lacks_has_no_coil() -> None:
    async with serve(Profile("3.5", "1.48")) as it:
        assert await it.ask("05 0015 ff00") == "050015ff00"
        assert await it.ask("05 0016 ff00") == "8502"
        assert await it.ask("05 0016 0000") == "8502"


async def test_target_of_the_regulator_is_written_as_tenths_or_as_float() -> None:
    store = MemoryStore()
    async with serve(store=store) as it, peer(it.port) as client:
        await it.twin.ok("/stm.cgi?pidvalue=0*10*200*500*10*0*2")
        assert not (await client.write_register(4, 215)).isError()
        assert store.load().settings["pid.target"] == 21.5
        assert not (await client.write_register(4, 65536 - 73)).isError()
        assert (await client.read_holding_registers(4, count=1)).registers == [65536 - 73]
        two = client.convert_to_registers(5000.04, client.DATATYPE.FLOAT32)
        assert not (await client.write_registers(5, two)).isError()
        assert store.load().settings["pid.target"] == 5000.0
        read = (await client.read_holding_registers(4, count=3)).registers
        assert read[0] == 32767
        assert client.convert_from_registers(read[1:], client.DATATYPE.FLOAT32) == 5000.0
        pid = (await it.twin.settings())["pid"]
        assert (pid["source"], pid["kp"], pid["pwm"], pid["enabled"]) == ("DS1", 500, 2, False)


async def test_locked_target_stays_with_all_that_was_written_beside_it() -> None:
    async with serve() as it:
        await it.twin.ok("/stm.cgi?outblock=1")
        assert await it.ask("06 0004 00d7") == "8604"
        await it.twin.ok("/stm.cgi?outblock=0")
        assert await it.ask("10 0003 0003 06 000a 00d7 41a8") == "9002"
        settings = await it.twin.settings()
        assert (settings["pwm"][3]["duty"], settings["pid"]["target"]) == (50, 0)
        assert await it.ask("10 0003 0004 08 000a 00d7 41ac 0000") == "1000030004"
        settings = await it.twin.settings()
        assert (settings["pwm"][3]["duty"], settings["pid"]["target"]) == (10, 21.5)


async def test_new_target_leaves_a_regulator_that_a_rule_switched_running() -> None:
    async with serve() as it:
        twin = it.twin
        await twin.ok("/sim.cgi?DS1=20")
        await twin.ok("/stm.cgi?pidvalue=0*10*200*500*10*0*2")
        await twin.ok("/inpa.cgi?event=0*104*0*1*0*0*47*0*0*0*0*0*1*0*0*0&eventon=0*1")
        await twin.ok("/outs.cgi?vout0=1")
        assert twin.controller.engine.pid.explain()["enabled"]
        assert await it.ask("06 0004 00d7") == "06000400d7"
        assert twin.controller.engine.pid.explain()["enabled"]
        assert twin.controller.engine.pid.explain()["target"] == 21.5


async def test_write_of_several_is_all_or_nothing() -> None:
    async with serve() as it:
        assert await it.ask("10 0000 0002 04 0014 00ff") == "9003"
        assert [one["duty"] for one in (await it.twin.settings())["pwm"]][:2] == [50, 50]


async def test_lock_refuses_writes_from_outside_all_or_nothing() -> None:
    async with serve() as it:
        await it.twin.ok("/stm.cgi?outblock=1")
        assert await it.ask("05 0000 ff00") == "8504"
        assert await it.ask("0f 0008 0004 01 0f") == "8f04"
        assert await it.ask("06 0000 0014") == "8604"
        state = await it.twin.state()
        assert (state["OUT0"], state["PWM2"], state["EVENT1"]) == (0, 0, 0)
        # Event variables are not locked, as with the command.
        assert await it.ask("05 000a ff00") == "05000aff00"
        await it.twin.ok("/stm.cgi?outblock=0")
        assert await it.ask("05 0000 ff00") == "050000ff00"


async def test_only_listed_addresses_write_and_all_read() -> None:
    async with serve(writers=(ip_network("192.0.2.0/24"),)) as it:
        for write in (
            *("05 0000 ff00", "0f 0000 0001 01 01", "06 0000 0001", "10 0000 0001 02 0001"),
            *("05 0012 ff00", "06 0004 00d7", "10 0005 0002 04 41ac 0000"),
        ):
            assert (await it.ask(write))[2:] == "01"
        assert await it.ask("01 0000 0006") == "010100"
        assert await it.twin.outputs() == "000000"


async def test_addresses_count_as_what_they_are() -> None:
    async with serve(writers=(ip_network("192.0.2.0/24"), ip_network("fe80::/10"))) as it:
        may_write = it.server.may_write
        assert may_write("192.0.2.7")
        assert may_write("::ffff:192.0.2.7")
        assert may_write("fe80::1%eth0")
        assert not may_write("192.0.3.7")
        assert not may_write("")


async def test_write_appears_in_the_log_with_its_cause() -> None:
    async with serve() as it:
        await it.ask("05 0003 ff00")
        entries = await it.twin.json("/api/log")
        (entry,) = [entry for entry in entries if "OUT3" in entry["text"]]
        assert (entry["cause"], entry["detail"]) == ("command", "Modbus TCP 127.0.0.1")


async def test_event_variables_cannot_be_written_where_no_command_does() -> None:
    async with serve(Profile("3.5", "1.30")) as it:
        assert await it.ask("05 000a ff00") == "8502"
        assert await it.ask("05 0000 ff00") == "050000ff00"
        # Nor once another version has them, and has been installed.
        await install(it.twin.controller, "1.48", None, Cause("firmware"))
        assert await it.ask("05 000a ff00") == "05000aff00"


async def test_write_that_cannot_be_stored_fails() -> None:
    store = Disk()
    async with serve(store=store) as it:
        store.is_full = True
        assert await it.ask("06 0000 0001") == "8604"
        assert await it.ask("03 0000 0001") == "03020032"
        store.is_full = False


async def test_while_the_database_of_its_node_is_away_switching_is_busy_and_changes_fail() -> None:
    async with serve() as it:
        away = Hindrance("The database is away.", store_is_away=True)
        it.twin.controller.why_refused = lambda: away
        assert await it.ask("05 0000 ff00") == "8506"
        assert await it.ask("06 0000 0001") == "8604"
        assert await it.ask("03 0000 0001") == "03020032"


async def test_controller_in_its_bootloader_is_busy() -> None:
    async with serve() as it:
        await it.twin.ok("/stm.cgi?upgrade=devstart3")
        assert await it.ask("01 0000 0001") == "8106"


async def test_setting_has_switched_server_and_connections_before_its_answer() -> None:
    async with serve() as it:
        port = it.port
        reader, writer = await asyncio.open_connection(HOST, port)
        await it.twin.ok("/stm.cgi?modbuson=0")
        assert it.server.port is None
        assert await has_ended(reader)
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(HOST, port)
        await it.twin.ok("/stm.cgi?modbuson=1")
        assert await it.ask("01 0000 0001") == "010100"


async def test_taken_port_is_a_trouble_and_the_rest_runs() -> None:
    twin = await LoopTwin.start()
    with socket.create_server((HOST, 0)) as taken:
        server = ModbusTcpServer(
            twin.controller,
            OwnPlace(HOST, taken.getsockname()[1]),
            LOOPBACK,
            DescriptorBudget(),
        )
        await twin.ok("/stm.cgi?modbuson=1")
        await server.follow(twin.controller.engine.settings)
        assert server.port is None
        assert "modbus_port" in twin.controller.troubles[modbus_tcp.NAME]
        assert (await twin.json("/health"))["status"] == "degraded"
        # Once it is not wanted any more, there is no problem.
        switched_off = with_value(twin.controller.engine.settings, "modbus_tcp.enabled", False)
        await server.follow(switched_off)
        assert twin.controller.troubles == {}
    await server.follow(twin.controller.engine.settings)
    assert server.port is not None
    assert twin.controller.troubles == {}
    await server.close()
    await twin.controller.stop()


async def test_bytes_that_are_no_modbus_end_the_connection_only() -> None:
    async with serve() as it:
        reader, writer = await asyncio.open_connection(HOST, it.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await has_ended(reader)
        writer.close()
        assert await it.ask("01 0000 0001") == "010100"


FRAME = struct.pack(">HHHBBHH", 1, 0, 6, 1, 1, 0, 1)


async def test_forty_silent_connections_of_one_address_block_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    descriptors = DescriptorBudget()
    async with serve(descriptors=descriptors) as it:
        strangers = [
            await asyncio.open_connection(HOST, it.port, local_addr=(f"127.0.0.{2 + n // 40}", 0))
            for n in range(80)
        ]
        others = [await asyncio.open_connection(HOST, it.port) for _ in range(3)]
        for reader, writer in others:
            writer.write(FRAME)
            assert len(await reader.readexactly(10)) == 10
        refused = descriptors.refused[modbus_tcp.SERVER, SHARE]
        assert 80 - modbus_tcp.MAX_CONNECTIONS < refused < 80
        assert descriptors.clients.used == 83 - refused
        warned = [text for text in caplog.messages if "refused a connection" in text]
        assert len(warned) == 2
        for _, one in (*strangers, *others):
            one.close()
    for _ in range(3):
        await asyncio.sleep(0)
    assert descriptors.clients.used == 0


async def test_process_without_room_refuses_the_connection() -> None:
    descriptors = DescriptorBudget(0)
    async with serve(descriptors=descriptors) as it:
        reader, writer = await asyncio.open_connection(HOST, it.port)
        assert await has_ended(reader)
        assert it.server._shares.used == 0
        writer.close()


async def test_connection_that_never_asks_ends_sooner_than_one_that_did() -> None:
    async with serve() as it:
        silent = await asyncio.open_connection(HOST, it.port)
        asking = await asyncio.open_connection(HOST, it.port)
        asking[1].write(FRAME)
        await asking[0].readexactly(10)
        it.server.sweep(asyncio.get_running_loop().time() + modbus_tcp.FIRST_FRAME_S + 1.0)
        assert await has_ended(silent[0])
        asking[1].write(FRAME)
        assert len(await asking[0].readexactly(10)) == 10
        silent[1].close()
        asking[1].close()


async def test_unfinished_frames_and_silence_end_a_connection() -> None:
    async with serve() as it:
        loop = asyncio.get_running_loop()
        idle = await asyncio.open_connection(HOST, it.port)
        slow = await asyncio.open_connection(HOST, it.port)
        slow[1].write(b"\x00\x01\x00")
        frame = struct.pack(">HHHBBHH", 1, 0, 6, 1, 1, 0, 1)
        idle[1].write(frame)
        await idle[0].readexactly(10)
        it.server.sweep(loop.time() + modbus_tcp.FRAME_S + 1.0)
        assert await has_ended(slow[0])
        idle[1].write(frame)
        assert len(await idle[0].readexactly(10)) == 10
        it.server.sweep(loop.time() + modbus_tcp.IDLE_S + 1.0)
        assert await has_ended(idle[0])
        idle[1].close()
        slow[1].close()


async def flood(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send until nothing is taken any more; that is a TimeoutError."""
    for _ in range(10_000):
        writer.write(data)
        async with asyncio.timeout(0.5):
            await writer.drain()


async def test_client_that_reads_no_responses_is_not_read_from() -> None:
    async with serve() as it:
        reader, writer = await asyncio.open_connection(HOST, it.port, limit=1024)
        frame = struct.pack(">HHHBBHH", 1, 0, 6, 1, 4, 0, 120)
        writer.transport.set_write_buffer_limits(high=1 << 16)
        with pytest.raises(TimeoutError):
            await flood(writer, frame * 100)
        writer.transport.abort()
        assert await it.ask("01 0000 0001") == "010100"


async def test_random_frames_crash_nothing_and_write_nothing_wrong() -> None:
    assert await fuzz(frames=4000, seed=11) == 80


# --- faults ---------------------------------------------------------------------------------------


@asynccontextmanager
async def with_client(
    served_twin: ServedByModbus, answer_s: float = PATIENCE_S
) -> AsyncIterator[AsyncModbusTcpClient]:
    client = AsyncModbusTcpClient(HOST, port=served_twin.port, timeout=answer_s, retries=0)
    assert await client.connect()
    yield client
    client.close()


async def test_fault_makes_the_server_answer_an_exception() -> None:
    async with serve() as served_twin:
        await served_twin.twin.ok("/sim.cgi?fault=modbus*what:exception*code:6*times:1")
        async with with_client(served_twin) as client:
            answer = await client.read_coils(0, count=6)
            assert answer.exception_code == 6
            assert not (await client.read_coils(0, count=6)).isError()


async def test_fault_by_chance_leaves_other_requests_alone() -> None:
    async with serve() as served_twin:
        await served_twin.twin.ok("/sim.cgi?fault=modbus*chance:0.5*seed:1")
        async with with_client(served_twin) as client:
            answers = [(await client.read_coils(0, count=6)).isError() for _ in range(20)]
    assert set(answers) == {True, False}


@pytest.mark.parametrize("what", ["silent", "garbage", "wrong id", "reset"])
async def test_fault_leaves_a_client_without_an_answer(what: str) -> None:
    async with serve() as served_twin:
        await served_twin.twin.ok(f"/sim.cgi?fault=modbus*what:{what.replace(' ', '+')}")
        async with with_client(served_twin, answer_s=0.2) as client:
            with pytest.raises(ModbusException):
                await client.read_coils(0, count=6)
        await served_twin.twin.ok("/sim.cgi?fault=none")
        async with with_client(served_twin) as client:
            assert not (await client.read_coils(0, count=6)).isError()


async def test_controller_that_is_off_drops_connections() -> None:
    async with serve() as served_twin, with_client(served_twin) as client:
        assert not (await client.read_coils(0, count=6)).isError()
        await served_twin.twin.ok("/sim.cgi?fault=refuse*for:1m")
        reader, writer = await asyncio.open_connection(HOST, served_twin.port)
        assert await has_ended(reader)
        writer.close()
        await served_twin.twin.controller.advance(60)
        assert served_twin.server.is_off is False
