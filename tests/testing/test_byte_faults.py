"""Faults of bytes on their way, as the other side of a Modbus or MQTT connection sees them."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from leverframe.testing import Twin, faults
from tests.patience import PATIENCE_S
from tests.stopwatch import within

#: Read eight coils: transaction, protocol, length, unit, function, address, count.
READ_COILS = bytes.fromhex("0001 0000 0006 01 01 0000 0006")
#: The answer of a twin with nothing on.
NOTHING_ON = bytes.fromhex("0001 0000 0004 01 01 01 00")
#: An accepted connection, in MQTT 5.
CONNECTED = bytes.fromhex("20 03 00 00 00")


# --- Modbus ---------------------------------------------------------------------------------------


@contextmanager
def modbus_connection(twin: Twin) -> Iterator[socket.socket]:
    with socket.create_connection(twin.modbus, timeout=PATIENCE_S) as connection:
        yield connection


def ask(connection: socket.socket) -> bytes:
    connection.sendall(READ_COILS)
    return connection.recv(100)


@pytest.fixture
def modbus_twin() -> Iterator[Twin]:
    with Twin(modbus=True, seed=3) as twin:
        yield twin


def test_modbus_answers_are_cut_and_the_connection_closed(modbus_twin: Twin) -> None:
    for count, arrives in ((None, NOTHING_ON[:5]), (8, NOTHING_ON[:8]), (0, b"")):
        cut = faults.modbus("cut", count=count)
        with modbus_twin.fault(cut), modbus_connection(modbus_twin) as connection:
            assert ask(connection) == arrives
            assert connection.recv(100) == b""
    with modbus_connection(modbus_twin) as connection:
        assert ask(connection) == NOTHING_ON


def test_modbus_answers_come_late_by_real_time_and_in_order(modbus_twin: Twin) -> None:
    modbus_twin.fault(faults.modbus("delay", delay="0.1s"), times=1)
    with modbus_connection(modbus_twin) as connection, within(2.0):
        began = time.monotonic()
        connection.sendall(READ_COILS + b"\x00\x02" + READ_COILS[2:])
        answers = b""
        while len(answers) < 2 * len(NOTHING_ON):
            answers += connection.recv(100)
        assert time.monotonic() - began >= 0.1
        assert answers == NOTHING_ON + b"\x00\x02" + NOTHING_ON[2:]


def test_modbus_answers_have_wrong_bytes_behind_a_right_header(modbus_twin: Twin) -> None:
    with modbus_connection(modbus_twin) as connection:
        with modbus_twin.fault(faults.modbus("corrupt")):
            answers = {ask(connection) for _ in range(5)}
        assert ask(connection) == NOTHING_ON
    for answer in answers:
        assert answer[:7] == NOTHING_ON[:7]
        assert sum(a != b for a, b in zip(answer, NOTHING_ON, strict=True)) == 1
    assert len(answers) > 1


def test_modbus_connections_are_reset(modbus_twin: Twin) -> None:
    modbus_twin.fault(faults.modbus("reset"))
    with modbus_connection(modbus_twin) as connection, pytest.raises(ConnectionResetError):
        ask(connection)


# --- MQTT -----------------------------------------------------------------------------------------


class Broker:
    """As much of a broker as it takes to see what a twin sends."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(PATIENCE_S)
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.connection: socket.socket | None = None

    def accept(self) -> socket.socket:
        self.connection, _ = self._listening.accept()
        self.connection.settimeout(PATIENCE_S)
        self.connection.recv(1000)
        self.connection.sendall(CONNECTED)
        self.read_until(b"leverframe/VCC")
        return self.connection

    def read_until(self, end: bytes) -> bytes:
        assert self.connection is not None
        heard = b""
        while end not in heard:
            piece = self.connection.recv(10_000)
            assert piece
            heard += piece
        return heard

    def close(self) -> None:
        self._listening.close()
        if self.connection is not None:
            self.connection.close()


@pytest.fixture
def broker() -> Iterator[Broker]:
    one = Broker()
    yield one
    one.close()


def rest_of(connection: socket.socket) -> bytes:
    rest = b""
    while piece := connection.recv(10_000):
        rest += piece
    return rest


def test_bytes_to_the_broker_are_delayed_corrupted_or_cut(broker: Broker) -> None:
    with Twin(mqtt=broker.address, seed=3) as twin:
        connection = broker.accept()
        with twin.fault(faults.mqtt("delay", delay="0.1s"), times=1), within(2.0):
            began = time.monotonic()
            twin.command("outs.cgi?out0=1")
            twin.command("outs.cgi?out1=1")
            heard = broker.read_until(b"leverframe/OUT1")
            assert time.monotonic() - began >= 0.1
            assert b"leverframe/OUT0" in heard
        with twin.fault(faults.mqtt("corrupt", count=1000), times=1):
            twin.command("outs.cgi?out2=1")
            twin.command("outs.cgi?out3=1")
            assert b"leverframe/OUT2" not in broker.read_until(b"leverframe/OUT3")
        with twin.fault(faults.mqtt("cut"), times=1):
            twin.command("outs.cgi?out4=1")
            assert b"leverframe/OUT4" not in rest_of(connection)
        begins = [entry["text"] for entry in twin.journal if entry["cause"] == "fault"]
        assert begins.count("acts on data for the broker") == 3


def test_connection_to_the_broker_is_reset_and_made_again(broker: Broker) -> None:
    with Twin(mqtt=broker.address) as twin:
        connection = broker.accept()
        with twin.fault(faults.mqtt("reset"), times=1):
            twin.command("outs.cgi?out0=1")
            with pytest.raises(ConnectionResetError):
                rest_of(connection)
            connection.close()
        broker.accept()
        twin.command("outs.cgi?out1=1")
        assert b"leverframe/OUT1" in broker.read_until(b"leverframe/OUT1")
