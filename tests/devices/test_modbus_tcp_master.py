"""The Modbus master by TCP: a server that others wrote, and servers that misbehave."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from leverframe.core.runtime.outgoing import Targets
from leverframe.core.settings import ModbusSlot
from leverframe.devices import modbus_lines
from leverframe.devices.modbus_lines import TcpLine
from leverframe.devices.modbus_master import ModbusMaster
from leverframe.devices.readings import Unusable
from leverframe.devices.wire.modbus import Read, exception_answer
from leverframe.devices.wire.modbus_frames import Data, ExceptionReply, NoAnswer
from leverframe.devices.wire.modbus_modules import COMMON_LINE, SerialParameters
from leverframe.testing import LoopTwin
from tests.devices.modbus_ports import connect_modbus
from tests.patience import PATIENCE_S
from tests.ports import free_port

from .slaves import tcp_slaves
from .test_modbus_bus import DEVICES, expect_value, runs_of
from .test_modbus_master import GTIL, NEWEST, Bench, SimulatedBus, slots, with_mapping
from .virtual_loop import run_virtually
from .waiting import until

WAY_OUT = Targets().channel("modbus")

PDU = bytes((3, 2, 0x12, 0x34))
ASKED = Read(3, 200, 1)


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    devices = [{"id": one, "runs": runs_of(readings)} for one, readings in DEVICES.values()]
    # One has a register that can be written.
    devices[-1]["runs"][2].append([900, [0]])
    with tcp_slaves(devices, free_port()) as address:
        yield address


async def test_commands_choose_modules_behind_a_gateway_and_the_state_shows_them(
    gateway: str,
) -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller)
    mapping = "*".join(["10", "20", *["00"] * 28])
    await twin.ok(
        f"/stm.cgi?modbus_sensor=06&modbusid=0{DEVICES['GTIL'][0]}&modbushost0={gateway}"
        f"&modbus_sensor=11&modbusid=1{DEVICES['SDM120'][0]}&modbushost1={gateway}"
        f"&modbusmapping={mapping}"
    )
    controller = twin.controller
    await until(lambda: controller.engine.values["m2"] is not None)
    await until(lambda: controller.engine.values["m1"] is not None)
    state = await twin.state()
    assert state["m1"] == pytest.approx(expect_value(DEVICES["GTIL"][1][0]))
    assert state["m2"] == pytest.approx(expect_value(DEVICES["SDM120"][1][0]))
    assert (await twin.json("/health"))["status"] == "ok"
    # Taken off the network, and on a serial bus that is not there: it is not polled any more.
    await twin.ok("/stm.cgi?modbushost0=&modbushost1=")
    state = await twin.state()
    assert (state["m1"], state["m2"], state["modbus"]) == (None, None, {})
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()


async def test_further_types_are_described_by_a_command_and_read(gateway: str) -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller)
    slave, readings = DEVICES["custom4"]
    types = ("int16", "int32", "float", "uint16", "uint32", "int64", "float64")
    orders = ("none", "byte", "word", "byte and word")
    divisors = (1, 10, 100, 1000)
    items = "&".join(
        f"m0{one.number}=r{one.number}*x*{divisors.index(one.divisor)}*{one.register}"
        f"*{one.function}*{types.index(one.type)}*{orders.index(one.endian)}"
        for one in readings
    )
    await twin.ok("/post.cgi?modbus_readings_save", "POST", f"&{items}&&".encode())
    settings = await twin.settings()
    assert settings["modbus_devices"][0]["readings"][8]["type"] == "int64"
    await twin.ok(f"/stm.cgi?modbus_sensor=0100&modbusid=0{slave}&modbushost0={gateway}")
    wanted = {f"r{one.number}": expect_value(one) for one in readings}

    def read_report() -> dict[str, Any]:
        report = twin.controller.reports["modbus"]()
        return dict(report["1"].readings)

    await until(lambda: None not in read_report().values())
    assert read_report() == pytest.approx(wanted)
    # The document's own command still knows its three types only.
    refused = await twin.ask("/post.cgi?mod_custom_save", "POST", b"&m00=a*b*0*1*3*3*0&&")
    assert refused.status == 400
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()


async def test_slot_with_an_address_is_written_there_and_other_slots_by_the_simulated_board(
    gateway: str,
) -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller)
    slave = DEVICES["custom5"][0]
    await twin.ok(f"/stm.cgi?modbus_sensor=0100&modbusid=0{slave}&modbushost0={gateway}")
    await twin.ok("/stm.cgi?mod_write=1*900*2*4711")
    (written,) = (await twin.state())["modbus_writes"]
    assert (written["outcome"], written["read_back"]) == ("written", 4711)
    await twin.ok("/stm.cgi?modbus_sensor=1100")
    await twin.ok("/stm.cgi?mod_write=2*900*2*12")
    assert (await twin.state())["modbus_writes"][-1]["outcome"] == "written"
    assert twin.controller.reports["modbus_statistics"]().keys() == {"1"}
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()


def test_bitrate_parity_and_stop_bits_of_a_slot_win_over_the_modules() -> None:
    async def scenario() -> None:
        twin = await LoopTwin.start()
        await twin.ok("/stm.cgi?modbus_sensor=06&modbusline0=5*2*2")
        bench = Bench(SimulatedBus(s1=1), twin.controller.engine.settings)
        await asyncio.sleep(0.5)
        assert {line for *_, line in bench.bus.asked} == {SerialParameters(19200, "even", 2)}
        await twin.ok("/stm.cgi?modbusline0=0*0*0")
        bench.adopt(twin.controller.engine.settings)
        bench.bus.asked.clear()
        await asyncio.sleep(0.5)
        assert {line for *_, line in bench.bus.asked} == {SerialParameters(9600, "none", 1)}
        await bench.master.close()
        await twin.controller.stop()

    run_virtually(scenario())


def test_hosts_and_the_serial_bus_are_asked_beside_each_other() -> None:
    async def scenario() -> None:
        serial, buses = SimulatedBus(s7=100), dict[str, SimulatedBus]()

        def connect(address: str) -> SimulatedBus:
            buses[address] = SimulatedBus(s1=200, s2=300)
            return buses[address]

        sensed: dict[str, Any] = {}
        settings = with_mapping(
            replace(
                NEWEST,
                modbus_slots=(
                    ModbusSlot("GTIL", 7),
                    ModbusSlot("GTIL", 1, host="a:1"),
                    ModbusSlot("GTIL", 2, host="a:1"),
                ),
            ),
            *((1, 0), (2, 0), (3, 0)),
        )
        master = ModbusMaster(serial, settings, sensed.update, {}, lambda: 0.0, connect)
        await asyncio.sleep(0.5)
        assert (sensed["m1"], sensed["m2"], sensed["m3"]) == (10.0, 20.0, 30.0)
        assert list(buses) == ["a:1"]
        assert await master.request(3, ASKED) == Data(b"\x01\x2c")
        assert {slave for _, slave, *_ in serial.asked} == {7}
        # One slot moves to another host; the readings of the old place do not count there.
        moved = replace(settings.modbus_slots[1], host="b:2")
        new = replace(
            settings,
            modbus_slots=(settings.modbus_slots[0], moved, ModbusSlot()),
        )
        master.adopt(settings, new)
        assert sensed["m2"] is None
        await asyncio.sleep(0.5)
        assert (sensed["m2"], buses["a:1"].closed, buses["b:2"].closed) == (20.0, True, False)
        await master.close()
        assert buses["b:2"].closed
        assert serial.closed

    run_virtually(scenario())


def test_without_a_bus_slots_are_left_to_the_simulated_board() -> None:
    async def scenario() -> None:
        sensed: dict[str, Any] = {}
        master = ModbusMaster(None, GTIL, sensed.update, {}, lambda: 0.0)
        master.adopt(GTIL, with_mapping(GTIL, (0, 0), (1, 2)))
        master.adopt(GTIL, slots())
        await asyncio.sleep(5.0)
        assert sensed == {}
        with pytest.raises(Unusable, match="no Modbus bus is configured; set serial_modbus"):
            await master.request(1, ASKED)
        await master.close()

    run_virtually(scenario())


class Server:
    """A server on a loopback port; what it says to a request is up to the test."""

    def __init__(self, says: Callable[[bytes], bytes | None]) -> None:
        self.says = says
        self.is_for_one_request = False
        self.connections = 0
        self._served: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> "Server":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.wait_for(asyncio.gather(*self._served), PATIENCE_S)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        while request := await _read(reader):
            said = self.says(request)
            if said is None:
                break
            writer.write(said)
            if self.is_for_one_request:
                break
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(1024)
    except ConnectionError:
        return b""


def answering(pdu: bytes) -> Callable[[bytes], bytes]:
    return lambda asked: asked[:4] + (len(pdu) + 1).to_bytes(2, "big") + asked[6:7] + pdu


async def ask_line(address: str) -> Any:
    line = TcpLine(WAY_OUT, address)
    try:
        return await line.ask(COMMON_LINE, 9, ASKED)
    finally:
        await line.close()


async def test_answers_exceptions_and_nonsense_are_distinguished() -> None:
    for says, answer in (
        (answering(PDU), Data(b"\x12\x34")),
        (answering(exception_answer(3, 6)), ExceptionReply(6)),
        (answering(PDU + b"x"), NoAnswer(is_damaged=True)),
        (lambda request: b"220 mail.example\r\n", NoAnswer(is_damaged=True)),
    ):
        async with Server(says) as server:
            assert await ask_line(server.address) == answer


async def test_connection_is_kept_while_answers_come_and_closed_after_a_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(modbus_lines, "TCP_ANSWER_S", 0.05)
    async with Server(answering(PDU)) as server:
        line = TcpLine(WAY_OUT, server.address)
        for _ in range(3):
            assert await line.ask(COMMON_LINE, 9, ASKED) == Data(b"\x12\x34")
        assert server.connections == 1
        server.says = lambda request: b""
        assert await line.ask(COMMON_LINE, 9, ASKED) == NoAnswer()
        server.says = answering(PDU)
        assert await line.ask(COMMON_LINE, 9, ASKED) == Data(b"\x12\x34")
        assert server.connections == 2
        await line.close()


async def test_connection_closed_by_the_server_is_opened_again() -> None:
    async with Server(answering(PDU)) as server:
        server.is_for_one_request = True
        line = TcpLine(WAY_OUT, server.address)
        for _ in range(3):
            assert await line.ask(COMMON_LINE, 9, ASKED) == Data(b"\x12\x34")
            await until(lambda: line.was_ended)
        assert server.connections == 3
        await line.close()


async def test_server_that_hangs_up_or_is_not_there_is_an_os_error() -> None:
    async with Server(lambda request: None) as server:
        with pytest.raises(OSError, match="closed by the other side"):
            await ask_line(server.address)
    with pytest.raises(OSError, match=r"no connection \(Connection refused\); check the address"):
        await ask_line(f"127.0.0.1:{free_port()}")
    with pytest.raises(OSError, match="this is not a valid host name"):
        await ask_line("a..b:502")


async def test_name_that_is_not_known_is_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    with pytest.raises(OSError, match=r"no connection \(Name or service not known\)"):
        await ask_line("meter.example")


async def test_host_that_takes_no_connection_in_time_is_an_os_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(modbus_lines, "CONNECT_S", 0.01)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as busy, socket.socket() as waiting:
        # One connection that is not accepted is all that fits; the kernel leaves the next one
        # waiting.
        waiting.connect(busy.getsockname())
        with pytest.raises(OSError, match="no answer in time"):
            await ask_line(f"127.0.0.1:{busy.getsockname()[1]}")


async def test_host_that_is_not_there_degrades_the_controller_with_a_sentence() -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller)
    address = f"127.0.0.1:{free_port()}"
    await twin.ok(f"/stm.cgi?modbus_sensor=01&modbushost0={address}")
    await until(lambda: bool(twin.controller.troubles))
    assert f"{address} failed: no connection" in twin.controller.troubles["Modbus slot 1"]
    assert (await twin.json("/health"))["status"] == "degraded"
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()


def test_silence_by_tcp_says_what_to_check_there() -> None:
    async def scenario() -> None:
        bus, troubles = SimulatedBus(), dict[str, str]()
        settings = replace(NEWEST, modbus_slots=(ModbusSlot("GTIL", 7, host="gw"),))
        master = ModbusMaster(
            None, settings, lambda readings: None, troubles, lambda: 0.0, lambda address: bus
        )
        await asyncio.sleep(1.0)
        assert "slave ID 7 at gw does not answer; check its unit ID" in troubles["Modbus slot 1"]
        bus.is_damaged = True
        await asyncio.sleep(30.0)
        assert "at gw sends invalid answers" in troubles["Modbus slot 1"]
        await master.close()

    run_virtually(scenario())
