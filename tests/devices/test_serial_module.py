"""Sensors on the serial port, over a real terminal: readings, staleness, lost and missing ports."""

import fcntl
import os
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, with_value
from leverframe.devices.modem import NAME as MODEM
from leverframe.devices.readings import Readings
from leverframe.devices.serial_module import (
    SENSORS,
    UNREADABLE,
    Pauses,
    SensorSession,
    SerialPortService,
)
from leverframe.devices.wire import serial_sensors
from leverframe.devices.wire.serial_sensors import Found, ScannerDecoder
from leverframe.interface.table.codes import SERIAL_MODULES
from tests.devices.waiting import until

SDS011, MHZ19 = "PM sensor SDS011", "CO2 sensor MH-Z16/19"
REPORT = bytes.fromhex("AA C0 D4 04 3A 0A A1 60 1D AB")
CO2_608 = bytes.fromhex("FF 86 02 60 47 00 00 00 D1")
QUICK = Pauses(0.01, 0.02)


def with_module(module: str) -> Settings:
    return with_value(defaults(Profile()), "serial.module", module)


class Bench:
    """The other end of a terminal, and everything that the service reports."""

    def __init__(self) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self._slave)
        self.values: dict[str, Any] = {}
        #: Everything that was ever shown, in order.
        self.history: list[dict[str, Any]] = []
        self.troubles: dict[str, str] = {}
        self.heard = b""

    def service(self, path: str | None = None, **changes: Any) -> SerialPortService:
        sessions = {
            name: partial(
                SensorSession, name, replace(sensor, **changes), self.sense, self.troubles
            )
            for name, sensor in SENSORS.items()
        }
        return SerialPortService(
            path or self.path, sessions, self.troubles, unreadable=UNREADABLE, pauses=QUICK
        )

    def sense(self, readings: Readings) -> None:
        self.values.update(readings)
        self.history.append(dict(readings))

    def lock(self, locked: bool) -> None:
        """As another program does while it uses the port."""
        fcntl.flock(self._slave, fcntl.LOCK_EX if locked else fcntl.LOCK_UN)

    def say(self, data: bytes) -> None:
        os.write(self.master, data)

    def scan(self, line: bytes) -> str | None:
        self.say(line)
        shown: str | None = self.values.get("barcode")
        return shown

    async def hears(self, data: bytes) -> None:
        def has_heard() -> bool:
            try:
                self.heard += os.read(self.master, 4096)
            except BlockingIOError:
                return False
            return data in self.heard

        await until(has_heard)

    async def shows(self, **values: Any) -> None:
        await until(lambda: all(self.values.get(label) == values[label] for label in values))

    def close(self) -> None:
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


async def test_unprompted_sensor_is_read_among_garbage(bench: Bench) -> None:
    service = bench.service()
    service.start(with_module(SDS011))
    await bench.hears(serial_sensors.SDS011_WAKE)
    bench.say(b"\xaa\xc0garbage" + REPORT[:4])
    bench.say(REPORT[4:] + b"\xff" + REPORT)
    await until(lambda: bench.values == {"PM2.5": 123.6, "PM10.0": 261.8})
    await service.close()
    assert bench.values == {"PM2.5": None, "PM10.0": None}


async def test_sensor_that_answers_is_asked_again_and_again(bench: Bench) -> None:
    service = bench.service(period_s=0.01)
    service.start(with_module(MHZ19))
    await bench.hears(serial_sensors.MHZ19_REQUEST * 3)
    bench.say(CO2_608)
    await bench.shows(CO2=608)
    await service.close()


async def test_readings_that_are_stale_are_absent_until_new_ones_come(bench: Bench) -> None:
    good, absent = {"PM2.5": 123.6, "PM10.0": 261.8}, {"PM2.5": None, "PM10.0": None}
    service = bench.service(stale_s=0.1)
    service.start(with_module(SDS011))
    await bench.hears(serial_sensors.SDS011_WAKE)
    bench.say(REPORT)
    await until(lambda: good in bench.history)
    await until(lambda: bench.history[-1] == absent and bool(bench.troubles))
    assert bench.troubles == {
        "serial module": "the PM sensor SDS011 sends nothing; check its power and wires."
    }
    # A sensor that lost its power has to be woken again.
    bench.heard = b""
    await bench.hears(serial_sensors.SDS011_WAKE)
    bench.history.clear()
    bench.say(REPORT)
    await until(lambda: good in bench.history)
    await service.close()


async def test_sensor_that_speaks_again_is_no_trouble_any_more(bench: Bench) -> None:
    service = bench.service(stale_s=0.1)
    service.start(with_module(SDS011))
    await until(lambda: "serial module" in bench.troubles)

    def speaks() -> bool:
        bench.say(REPORT)
        return not bench.troubles

    await until(speaks)
    await service.close()


async def test_sensor_that_stopped_measuring_is_restarted(bench: Bench) -> None:
    service = bench.service(stale_s=0.05, period_s=0.01)
    service.start(with_module("PM sensor SPS30"))
    await bench.hears(serial_sensors.SPS30_START)
    # Not allowed in this state.
    bench.say(bytes.fromhex("7E 00 03 43 00 B9 7E"))
    bench.heard = b""
    await bench.hears(serial_sensors.SPS30_START)
    await service.close()


async def test_scanned_code_stays_until_the_next_one(bench: Bench) -> None:
    service = bench.service()
    service.start(with_module("bar/QR code scanner"))
    # Nothing shows when a scanner's port is open; people scan until it beeps.
    await until(lambda: bench.scan(b"5901234123457\r\n") == "5901234123457")
    await until(lambda: bench.scan(b"DOOR-7\r") == "DOOR-7")
    await service.close()


async def test_choosing_another_module_reopens_the_port(bench: Bench) -> None:
    service = bench.service(period_s=0.01)
    service.start(with_module(SDS011))
    await bench.hears(serial_sensors.SDS011_WAKE)
    bench.say(REPORT)
    await until(lambda: bench.values.get("PM2.5") == 123.6)
    service.choose(MHZ19)
    await bench.hears(serial_sensors.MHZ19_REQUEST)
    bench.say(CO2_608)
    await bench.shows(CO2=608)
    assert bench.values["PM2.5"] is None
    service.choose("OFF")
    await until(lambda: bench.values["CO2"] is None)
    await service.close()


async def test_missing_port_is_a_trouble_until_it_is_there(bench: Bench, tmp_path: Path) -> None:
    link = tmp_path / "ttyUSB0"
    service = bench.service(str(link))
    service.start(with_module(SDS011))
    await until(lambda: "serial port" in bench.troubles)
    assert bench.troubles["serial port"] == (
        f"{link} is missing; check the wiring, its driver and the configuration."
    )
    link.symlink_to(bench.path)
    await bench.hears(serial_sensors.SDS011_WAKE)
    assert bench.troubles == {}
    await service.close()


async def test_port_that_is_lost_is_opened_again_when_it_is_back(tmp_path: Path) -> None:
    first, second = Bench(), Bench()
    link = tmp_path / "ttyUSB0"
    link.symlink_to(first.path)
    service = first.service(str(link))
    service.start(with_module(SDS011))
    await first.hears(serial_sensors.SDS011_WAKE)
    first.say(REPORT)
    await until(lambda: first.values.get("PM2.5") == 123.6)
    link.unlink()
    first.close()
    await until(lambda: "serial port" in first.troubles)
    assert first.values["PM2.5"] is None
    link.symlink_to(second.path)
    await second.hears(serial_sensors.SDS011_WAKE)
    second.say(REPORT)
    await until(lambda: first.values["PM2.5"] == 123.6)
    assert first.troubles == {}
    await service.close()
    second.close()


async def test_path_that_is_no_serial_port_is_reported(tmp_path: Path) -> None:
    bench = Bench()
    plain = tmp_path / "file"
    plain.write_bytes(b"")
    service = bench.service(str(plain))
    service.start(with_module(SDS011))
    await until(lambda: "serial port" in bench.troubles)
    assert str(plain) in bench.troubles["serial port"]
    await service.close()
    bench.close()


async def test_port_in_use_by_another_program_is_reported(bench: Bench) -> None:
    bench.lock(True)
    service = bench.service()
    service.start(with_module(SDS011))
    await until(lambda: "used by another program" in bench.troubles.get("serial port", ""))
    bench.lock(False)
    await bench.hears(serial_sensors.SDS011_WAKE)
    assert bench.troubles == {}
    await service.close()


async def test_failed_session_is_reported_and_restarted(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(ScannerDecoder):
        def feed(self, data: bytes) -> list[Found]:
            raise ValueError("a mistake")

    service = bench.service(decoder=Faulty)
    service.start(with_module("bar/QR code scanner"))

    def has_failed() -> bool:
        bench.say(b"x\n")
        return "a mistake" in bench.troubles.get("serial port", "")

    await until(has_failed)
    assert "the serial module failed" in caplog.text
    await service.close()


@contextmanager
def without_root() -> Iterator[None]:
    """Without the rights of root, who may use every port."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


async def test_port_without_permission_is_reported(bench: Bench) -> None:
    os.chmod(bench.path, 0)
    service = bench.service()
    with without_root():
        service.start(with_module(SDS011))
        await until(lambda: "This account may not use" in bench.troubles.get("serial port", ""))
        await service.close()


@pytest.mark.parametrize("module", UNREADABLE)
async def test_module_with_unpublished_protocol_is_reported(bench: Bench, module: str) -> None:
    service = bench.service()
    service.start(with_module(module))
    await until(lambda: "is not published" in bench.troubles.get("serial port", ""))
    service.choose("OFF")
    await until(lambda: bench.troubles == {})
    await service.close()


def test_every_module_that_can_be_chosen_is_known_to_the_service() -> None:
    meters = {"SDM120", "SDM72D-M"}
    known = {"OFF", MODEM, *SENSORS, *UNREADABLE} | meters
    assert {code.word for code in SERIAL_MODULES.codes} == known


async def test_module_that_cannot_be_closed_is_reported_and_the_next_module_served(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    # One when the port is let go of, and one when the module is left.
    faults = [ZeroDivisionError("module"), ZeroDivisionError("port")]

    def sense(readings: Readings) -> None:
        if None in readings.values() and faults:
            raise faults.pop()
        bench.sense(readings)

    sessions = {
        name: partial(SensorSession, name, sensor, sense, bench.troubles)
        for name, sensor in SENSORS.items()
    }
    service = SerialPortService(
        bench.path, sessions, bench.troubles, unreadable=UNREADABLE, pauses=QUICK
    )
    service.start(with_module(SDS011))
    await bench.hears(serial_sensors.SDS011_WAKE)
    service.choose(MHZ19)
    await bench.hears(serial_sensors.MHZ19_REQUEST)
    await service.close()
    assert "ZeroDivisionError: port" in caplog.text
    assert "ZeroDivisionError: module" in caplog.text
