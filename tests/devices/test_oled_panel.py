"""The panel shows what the display shows: frames on a bus that remembers what was written."""

import asyncio
from pathlib import Path

import pytest

from leverframe.devices.linux.board_check import display_checks
from leverframe.devices.linux.oled_panel import NAME, PanelService, picture_of
from leverframe.devices.readings import Unusable
from leverframe.devices.wiring import OledWiring
from tests.devices.fake_i2c import FakeI2cBus, RegisterPart
from tests.devices.waiting import until
from tests.patience import PATIENCE_S
from tests.stopwatch import within

#: Of the driver, which others maintain.
pytestmark = pytest.mark.filterwarnings("ignore:Image.Image.getdata:DeprecationWarning")

COMMAND, DATA = 0x00, 0x40
OFF, ON = bytes((COMMAND, 0xAE)), bytes((COMMAND, 0xAF))
WIDTH, PAGES = 128, 8
WIRING = OledWiring(bus=1)


class PanelOnBus:
    """A bus with one panel on it, as far as its memory and its switch go."""

    def __init__(self) -> None:
        self.is_there = True
        self.lit = False
        self.closed = False
        self._written = b""

    def write(self, address: int, data: bytes) -> None:
        if not self.is_there or address != WIRING.address:
            raise OSError(121, "Remote I/O error")
        if data in (ON, OFF):
            self.lit = data == ON
        elif data[0] == DATA:
            self._written = (self._written + data[1:])[-WIDTH * PAGES :]

    def read(self, address: int, count: int) -> bytes:
        raise OSError(121, "Remote I/O error")

    def ask(self, address: int, data: bytes, count: int) -> bytes:
        raise OSError(121, "Remote I/O error")

    def pause(self, seconds: float) -> None:
        """It needs no time."""

    def close(self) -> None:
        self.closed = True

    def shows(self, *lines: str) -> bool:
        """Is the memory what these lines look like: columns of eight dots, lowest bit on top?"""
        picture = picture_of(lines)
        columns = bytes(
            sum(1 << dot for dot in range(8) if picture.getpixel((x, page * 8 + dot)))
            for page in range(PAGES)
            for x in range(WIDTH)
        )
        return self.lit and self._written == columns


class Bench:
    def __init__(self) -> None:
        self.bus = PanelOnBus()
        self.lines: tuple[str, ...] | None = ("T1 21.5", "", "", "")
        self.troubles: dict[str, str] = {}
        self.service = PanelService(
            WIRING, lambda: self.lines, self.troubles, lambda number: self.bus, retry_s=0.01
        )


async def test_panel_shows_the_lines_and_follows_them() -> None:
    bench = Bench()
    bench.service.show_if_changed()
    await until(lambda: bench.bus.shows("T1 21.5", "", "", ""))
    bench.lines = ("T1 21.6", "", "", "")
    bench.service.show_if_changed()
    await until(lambda: bench.bus.shows("T1 21.6", "", "", ""))
    await bench.service.close()
    assert not bench.troubles


async def test_dark_display_switches_the_panel_off() -> None:
    bench = Bench()
    bench.service.show_if_changed()
    await until(lambda: bench.bus.lit)
    bench.lines = None
    bench.service.show_if_changed()
    await until(lambda: not bench.bus.lit)
    await bench.service.close()


async def test_panel_that_was_missing_is_set_up_when_it_answers() -> None:
    bench = Bench()
    bench.bus.is_there = False
    bench.service.show_if_changed()
    await until(lambda: NAME in bench.troubles)
    assert "0x3C" in bench.troubles[NAME]
    bench.bus.is_there = True
    await until(lambda: bench.bus.shows("T1 21.5", "", "", ""))
    await until(lambda: not bench.troubles)
    await bench.service.close()


async def test_pulled_adapter_is_reported_though_nothing_changes(tmp_path: Path) -> None:
    bench = Bench()
    await bench.service.close()
    device = tmp_path / "i2c-1"
    device.touch()
    service = PanelService(
        WIRING, lambda: bench.lines, bench.troubles, lambda number: bench.bus, device=device
    )
    service.show_if_changed()
    await until(lambda: bench.bus.shows("T1 21.5", "", "", ""))
    device.unlink()
    bench.bus.is_there = False
    with within(2.0):
        await until(lambda: NAME in bench.troubles)
    assert bench.bus.closed
    bench.bus.is_there = True
    device.touch()
    await until(lambda: NAME not in bench.troubles)
    await service.close()


async def test_panel_is_dark_and_the_bus_free_at_the_end() -> None:
    bench = Bench()
    bench.service.show_if_changed()
    await until(lambda: bench.bus.lit)
    await asyncio.wait_for(bench.service.close(), PATIENCE_S)
    assert not bench.bus.lit
    assert bench.bus.closed


# --- board check ----------------------------------------------------------------------------------


def test_check_says_whether_the_display_answers_and_leaves_it_alone() -> None:
    bus, panel = FakeI2cBus(), RegisterPart({})
    bus.parts[0x3C] = panel
    [found] = display_checks(OledWiring(bus=1), lambda number: bus)
    assert (found.is_good, found.place) == (True, "/dev/i2c-1 address 0x3C")
    assert (panel.written, bus.closed) == ([], True)


def test_check_says_what_to_do_about_a_display_that_does_not_answer() -> None:
    [found] = display_checks(OledWiring(bus=1, address=0x3D), lambda number: FakeI2cBus())
    assert not found.is_good
    assert "does not answer; check its wires, its supply and the address." in found.text


def test_check_says_when_the_bus_of_the_display_is_missing() -> None:
    def no_bus(number: int) -> FakeI2cBus:
        raise Unusable(f"/dev/i2c-{number} is not there; check the wiring.")

    [found] = display_checks(OledWiring(bus=7), no_bus)
    assert (found.is_good, found.text) == (False, "/dev/i2c-7 is not there; check the wiring.")
