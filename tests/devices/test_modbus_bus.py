"""The Modbus master on a serial line: a slave that others wrote, and one that misbehaves."""

import asyncio
import os
import pty
import select
import struct
import time
import tty
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import serialx
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import ModbusDevice, ModbusReading, ModbusSlot, Settings
from leverframe.core.tree import defaults
from leverframe.devices.modbus_lines import SERIAL_ANSWER_S, SerialLine
from leverframe.devices.modbus_master import ModbusMaster
from leverframe.devices.wire.modbus import ILLEGAL_ADDRESS, Read, Write, exception_answer
from leverframe.devices.wire.modbus_frames import (
    Answer,
    Data,
    ExceptionReply,
    NoAnswer,
    build_frame,
)
from leverframe.devices.wire.modbus_modules import MODULES, ModuleReading, SerialParameters
from leverframe.testing import LoopTwin
from tests.devices.modbus_ports import connect_modbus
from tests.patience import PATIENCE_S

from .slaves import serial_slaves
from .waiting import until

NEWEST = defaults(Profile())
FORMATS = {"int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "float": ">f"}
FORMATS |= {"int64": ">q", "float64": ">d"}
#: Where the bytes stand in each form.
ORDERS = {
    "none": "ABCDEFGH",
    "byte": "BADCFEHG",
    "word": "GHEFCDAB",
    "byte and word": "HGFEDCBA",
}
OWN_TYPES = ("int16", "int32", "float")
#: Those of our own commands.
MORE_TYPES = ("uint16", "uint32", "int64", "float64")


class TerminalLine(SerialLine):
    """A serial line made of pseudo terminals, which have no parity."""

    async def ask(
        self, line: SerialParameters, slave: int, request: Read | Write
    ) -> Answer | NoAnswer:
        return await super().ask(replace(line, parity="none"), slave, request)


def raw_number(reading: ModuleReading) -> float:
    """What a device holds for a reading: different for each, and below zero where it can be."""
    raw = 100 + 7 * reading.number
    if reading.type.startswith("float"):
        return raw + 0.25
    if reading.type in ("int32", "uint32"):
        raw += 70_000
    if reading.type == "int64":
        raw += 5_000_000_000
    if reading.type == "uint16":
        raw += 40_000
    return -raw if reading.type.startswith("int") else raw


def words_of(reading: ModuleReading) -> list[int]:
    data = struct.pack(FORMATS[reading.type], raw_number(reading))
    letters = "ABCDEFGH"[: len(data)]
    order = (letter for letter in ORDERS[reading.endian] if letter in letters)
    data = bytes(data[letters.index(letter)] for letter in order)
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def own_readings(function: int, types: tuple[str, ...] = OWN_TYPES) -> tuple[ModuleReading, ...]:
    """Every type in every form, with several divisors."""
    forms = [(kind, endian) for kind in types for endian in ORDERS]
    return tuple(
        ModuleReading(n, f"{kind} {endian}", "", 50 + 4 * n, function, kind, 10 ** (n % 4), endian)
        for n, (kind, endian) in enumerate(forms)
    )


def own_bits() -> tuple[ModuleReading, ...]:
    return tuple(
        ModuleReading(n, f"bit {n}", "", 30 + n // 2, 1 + n % 2, "int16") for n in range(8)
    )


def bit_of(reading: ModuleReading) -> int:
    return reading.number // 3 % 2


#: Slave ID and readings of everything that is connected to the line, by module.
DEVICES: dict[str, tuple[int, tuple[ModuleReading, ...]]] = {
    **{label: (10 + n, module.readings) for n, (label, module) in enumerate(MODULES.items())},
    "custom1": (101, own_readings(3)),
    "custom2": (102, own_readings(4)),
    "custom3": (103, own_bits()),
    "custom4": (104, own_readings(3, MORE_TYPES)),
    "custom5": (105, own_readings(4)[5:9]),
}


def expect_value(reading: ModuleReading) -> float:
    raw = bit_of(reading) if reading.function in (1, 2) else raw_number(reading)
    return raw / reading.divisor


def runs_of(readings: tuple[ModuleReading, ...]) -> list[list[Any]]:
    runs: list[list[Any]] = [[], [], [], []]
    for reading in sorted(readings, key=lambda reading: reading.register):
        values = [bit_of(reading)] if reading.function in (1, 2) else words_of(reading)
        runs[reading.function - 1].append([reading.register, values])
    return runs


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """A serial port with all devices on it, each with registers for its own function only."""
    devices = [{"id": one, "runs": runs_of(readings)} for one, readings in DEVICES.values()]
    with serial_slaves(devices) as port:
        yield port


def own_device(readings: tuple[ModuleReading, ...]) -> ModbusDevice:
    rows = list(ModbusDevice().readings)
    for one in readings:
        rows[one.number] = ModbusReading(
            one.name, one.unit, one.divisor, one.register, one.function, one.type, one.endian
        )
    return ModbusDevice("own", readings=tuple(rows))


def settings_for(labels: tuple[str, ...]) -> Settings:
    chosen = [ModbusSlot(label, DEVICES[label][0]) for label in labels]
    return replace(
        NEWEST,
        modbus_slots=(*chosen, *NEWEST.modbus_slots[len(chosen) :]),
        modbus_devices=tuple(own_device(DEVICES[f"custom{n}"][1]) for n in range(1, 6)),
    )


def by_threes() -> list[tuple[str, ...]]:
    labels = iter(DEVICES)
    return [group for _ in DEVICES if (group := tuple(islice(labels, 3)))]


@pytest.mark.parametrize("labels", by_threes(), ids=" + ".join)
async def test_every_module_is_read_from_a_slave_that_others_wrote(
    port: str, labels: tuple[str, ...]
) -> None:
    sensed: dict[str, Any] = {}
    troubles: dict[str, str] = {}
    master = ModbusMaster(
        TerminalLine(port), settings_for(labels), sensed.update, troubles, lambda: 0.0
    )
    wanted: dict[str, list[float | None]] = {}
    for slot, label in enumerate(labels, start=1):
        values: list[float | None] = [None] * 30
        for reading in DEVICES[label][1]:
            values[reading.number] = expect_value(reading)
        wanted[f"slot{slot}"] = values
    try:
        await until(
            lambda: all(
                _count_known(sensed.get(slot)) == _count_known(wanted[slot]) for slot in wanted
            )
        )
        for slot, values in wanted.items():
            assert sensed[slot] == pytest.approx(values)
    finally:
        await master.close()
    assert troubles == {}


def _count_known(values: Any) -> int:
    return sum(value is not None for value in values or ())


class MisbehavingSlave:
    """The other end of a serial line; what it says to a request is up to the test."""

    def __init__(self) -> None:
        self._end, port = pty.openpty()
        tty.setraw(port)
        self._port = port
        self.path = os.ttyname(port)
        self.requests: list[bytes] = []
        self.says: Callable[[bytes], bytes] = lambda request: b""
        asyncio.get_running_loop().add_reader(self._end, self._hear)

    def _hear(self) -> None:
        request = os.read(self._end, 4096)
        self.requests.append(request)
        self.say(self.says(request))

    def say(self, data: bytes) -> None:
        if data:
            os.write(self._end, data)

    def say_unasked(self, data: bytes) -> None:
        """Write it so that the port has it before any read: the system may deliver it late."""
        self.say(data)
        has_arrived, _, _ = select.select([self._port], [], [], PATIENCE_S)
        assert has_arrived

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._end)
        os.close(self._end)
        os.close(self._port)


SLAVE = 3
ASKED = Read(3, 200, 1)
GOOD = build_frame(SLAVE, bytes((3, 2, 0x12, 0x34)))
OTHER = build_frame(SLAVE, bytes((3, 2, 0x99, 0x99)))
ANSWER = Data(b"\x12\x34")
FAST = SerialParameters(115200)


@pytest.fixture
async def slave() -> Any:
    slave = MisbehavingSlave()
    yield slave
    slave.close()


@pytest.fixture
async def line(slave: MisbehavingSlave) -> Any:
    line = SerialLine(slave.path)
    yield line
    await line.close()


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (GOOD, ANSWER),
        (b"\x00\xff\x03\x03\x02" + GOOD, ANSWER),
        (build_frame(SLAVE + 1, bytes((3, 2, 1, 1))) + GOOD, ANSWER),
        (build_frame(SLAVE, ASKED.pdu()) + GOOD, ANSWER),
        (build_frame(SLAVE, exception_answer(3, ILLEGAL_ADDRESS)), ExceptionReply(ILLEGAL_ADDRESS)),
        (GOOD[:-1] + b"\x00" + GOOD, ANSWER),
    ],
    ids=["good", "noise before", "another slave", "echo", "exception", "wrong checksum before"],
)
async def test_answer_is_found_in_what_a_line_delivers(
    slave: MisbehavingSlave, line: SerialLine, response: bytes, answer: Answer
) -> None:
    slave.says = lambda request: response
    assert await line.ask(FAST, SLAVE, ASKED) == answer
    assert slave.requests == [build_frame(SLAVE, ASKED.pdu())]


@pytest.mark.parametrize(
    ("response", "is_damaged"),
    [
        (b"", False),
        (GOOD[:-1], True),
        (GOOD[:-1] + b"\x00", True),
        (build_frame(SLAVE, ASKED.pdu()), False),
        (build_frame(SLAVE + 1, GOOD[1:-2]), False),
    ],
    ids=["silence", "short frame", "wrong checksum", "echo only", "another slave"],
)
async def test_without_an_answer_the_slave_counts_as_silent(
    slave: MisbehavingSlave, line: SerialLine, response: bytes, is_damaged: bool
) -> None:
    slave.says = lambda request: response
    assert await line.ask(FAST, SLAVE, ASKED) == NoAnswer(is_damaged)
    slave.says = lambda request: GOOD
    assert await line.ask(FAST, SLAVE, ASKED) == ANSWER


async def test_answer_that_comes_too_late_is_not_taken_for_the_next(
    slave: MisbehavingSlave, line: SerialLine
) -> None:
    assert await line.ask(FAST, SLAVE, ASKED) == NoAnswer()
    slave.say_unasked(OTHER)
    slave.says = lambda request: GOOD
    assert await line.ask(FAST, SLAVE, Read(3, 300, 1)) == ANSWER


async def test_answer_counts_that_a_busy_controller_finds_at_the_end_of_its_time(
    slave: MisbehavingSlave, line: SerialLine
) -> None:
    def hold_up(request: bytes) -> bytes:
        slave.say_unasked(GOOD)
        time.sleep(SERIAL_ANSWER_S + 0.1)
        return b""

    slave.says = hold_up
    assert await line.ask(FAST, SLAVE, ASKED) == ANSWER


async def test_port_is_free_after_the_line_was_closed_while_it_opened(
    slave: MisbehavingSlave, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, connect = asyncio.Event(), serialx.create_serial_connection

    async def slowly(*args: Any, **options: Any) -> Any:
        connected = await connect(*args, **options)
        opened.set()
        await asyncio.sleep(0.05)
        return connected

    line, other = SerialLine(slave.path), SerialLine(slave.path)
    with monkeypatch.context() as patched:
        patched.setattr(serialx, "create_serial_connection", slowly)
        asking = asyncio.create_task(line.ask(FAST, SLAVE, ASKED))
        await opened.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await line.close()
    slave.says = lambda request: GOOD
    assert await other.ask(FAST, SLAVE, ASKED) == ANSWER
    await other.close()


async def test_port_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        await SerialLine(str(tmp_path / "ttyUSB9")).ask(FAST, SLAVE, ASKED)


async def test_port_that_vanishes_is_an_os_error_and_may_come_back(tmp_path: Path) -> None:
    slave = MisbehavingSlave()
    path = tmp_path / "ttyUSB0"
    path.symlink_to(slave.path)
    line = SerialLine(str(path))
    slave.says = lambda request: GOOD
    assert await line.ask(FAST, SLAVE, ASKED) == ANSWER
    slave.close()
    with pytest.raises(OSError, match="disconnected|closed"):
        await line.ask(FAST, SLAVE, ASKED)
    another = MisbehavingSlave()
    another.says = lambda request: GOOD
    path.unlink()
    path.symlink_to(another.path)
    assert await line.ask(FAST, SLAVE, ASKED) == ANSWER
    await line.close()
    another.close()


async def test_port_whose_loss_a_write_notices_first_is_opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_: bytes) -> None:
        raise OSError("device disconnected")

    slave = MisbehavingSlave()
    slave.says = lambda request: GOOD
    line = SerialLine(slave.path)
    assert await line.ask(FAST, SLAVE, ASKED) == ANSWER
    monkeypatch.setattr(line._transport, "write", fails)
    with pytest.raises(OSError, match="disconnected"):
        await line.ask(FAST, SLAVE, ASKED)
    assert await line.ask(FAST, SLAVE, ASKED) == ANSWER
    await line.close()
    slave.close()


async def test_slave_that_refuses_everything_is_reported_in_all_places(port: str) -> None:
    twin = await LoopTwin.start()
    services = await connect_modbus(twin.controller, port)
    # What hangs there has bits only, and no input registers.
    await twin.ok(f"/stm.cgi?modbus_sensor=01&modbusid=0{DEVICES['custom3'][0]}")
    registers = len(MODULES["SDM120"].readings)
    refused: dict[str, Any] = {}

    async def all_are_refused() -> None:
        while len(refused.get("refused", ())) < registers:
            await asyncio.sleep(0.05)
            refused.update((await twin.state())["modbus"]["1"])

    await asyncio.wait_for(all_are_refused(), PATIENCE_S)
    state, health = await twin.state(), await twin.json("/health")
    assert (health["status"], health["troubles"]) == ("degraded", ["Modbus slot 1"])
    assert "SDM120 with slave ID 103 refuses all requests" in state["troubles"]["Modbus slot 1"]
    assert "(exception 2, illegal data address" in state["troubles"]["Modbus slot 1"]
    statistics = state["modbus_statistics"]["1"]
    assert statistics["requests"] == statistics["answers"] == statistics["exceptions"]["2"]
    assert statistics["mean_answer_s"] > 0
    metrics = (await twin.ok("/metrics")).body.decode()
    assert 'leverframe_modbus_exceptions_total{slot="1",code="2"}' in metrics
    assert 'leverframe_modbus_crc_errors_total{slot="1"} 0' in metrics
    assert 'leverframe_modbus_last_answer_seconds{slot="1"}' in metrics
    for service in reversed(services):
        await service.close()
    await twin.controller.stop()
