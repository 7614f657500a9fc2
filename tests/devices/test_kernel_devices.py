"""What the kernel's GPIO lines and I2C buses are asked for, where there is no hardware.

No machine without pins can show more than this: the right settings are made, and missing devices
are reported in a sentence.
"""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leverframe.devices.linux.i2c_parts import open_kernel_bus
from leverframe.devices.linux.pins import NoLines, kernel_lines
from leverframe.devices.readings import Unusable
from leverframe.devices.wiring import FilteredPin, Pin

NO_SUCH_BUS = 4711


def test_input_is_debounced_and_pulled_and_reports_both_edges() -> None:
    gpiod = pytest.importorskip("gpiod")
    from leverframe.devices.linux.kernel_drivers import input_settings

    settings = input_settings(FilteredPin("/dev/gpiochip0", 5, debounce_ms=20), pull_up=True)
    assert settings.direction == gpiod.line.Direction.INPUT
    assert settings.edge_detection == gpiod.line.Edge.BOTH
    assert settings.bias == gpiod.line.Bias.PULL_UP
    assert settings.debounce_period == timedelta(milliseconds=20)
    open_one = input_settings(FilteredPin("/dev/gpiochip0", 5), pull_up=False)
    assert open_one.bias == gpiod.line.Bias.PULL_DOWN


def test_output_comes_up_with_the_wanted_state() -> None:
    gpiod = pytest.importorskip("gpiod")
    from leverframe.devices.linux.kernel_drivers import output_settings

    settings = output_settings(Pin("/dev/gpiochip0", 5, active_low=True), on=True)
    assert settings.direction == gpiod.line.Direction.OUTPUT
    assert settings.output_value == gpiod.line.Value.ACTIVE
    assert settings.active_low


def test_missing_chip_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("gpiod")
    pin = FilteredPin(str(tmp_path / "gpiochip0"), 17)
    lines = kernel_lines()
    for use in (
        lambda: lines.open_output(pin, on=True),
        lambda: lines.open_input(pin, pull_up=True),
        lambda: lines.describe(pin),
    ):
        with pytest.raises(Unusable, match="gpiochip0 is missing; check"):
            use()


def test_file_that_is_no_chip_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("gpiod")
    (tmp_path / "file").write_text("")
    with pytest.raises(Unusable, match="file line LED"):
        kernel_lines().describe(Pin(str(tmp_path / "file"), "LED"))


def test_without_its_package_every_line_says_what_to_install() -> None:
    lines, pin = NoLines(), FilteredPin("/dev/gpiochip0", 1)
    for use in (
        lambda: lines.open_output(pin, on=True),
        lambda: lines.open_input(pin, pull_up=True),
        lambda: lines.describe(pin),
    ):
        with pytest.raises(Unusable, match=r"-m pip install '.*\[hardware\]'"):
            use()


def test_missing_bus_is_reported() -> None:
    pytest.importorskip("smbus2")
    with pytest.raises(Unusable, match=f"/dev/i2c-{NO_SUCH_BUS} is missing; check"):
        open_kernel_bus(NO_SUCH_BUS)


class QueuedEdges:
    """A request for a line on which edges are queued: the number of each, and whether it rises."""

    fd = -1

    def __init__(self, *edges: tuple[int, bool]) -> None:
        self._edges = edges

    def read_edge_events(self) -> list[SimpleNamespace]:
        kind = pytest.importorskip("gpiod").EdgeEvent.Type
        return [
            SimpleNamespace(
                line_seqno=number, event_type=kind.RISING_EDGE if rises else kind.FALLING_EDGE
            )
            for number, rises in self._edges
        ]


def input_with(*edges: tuple[int, bool]) -> Any:
    pytest.importorskip("gpiod")
    from leverframe.devices.linux.kernel_drivers import KernelInput

    return KernelInput(QueuedEdges(*edges), FilteredPin("chip", 1))  # type: ignore[arg-type]


def test_edges_that_the_kernel_dropped_are_counted_all_the_same() -> None:
    line = input_with((1, True), (2, False), (6, False), (7, True))
    assert line.edges() == [1, 0, 1, 0, 1, 0, 1]


def test_two_edges_that_came_as_one_interrupt_are_both_counted() -> None:
    line = input_with((1, True), (2, True), (3, False), (4, False), (7, False), (8, True))
    assert line.edges() == [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]


def test_queue_that_lost_its_beginning_begins_with_what_was_lost() -> None:
    line = input_with((4, True))
    assert line.edges() == [0, 1, 0, 1]
