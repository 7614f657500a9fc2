"""GPIO lines by `gpiod` and the I2C bus by `smbus2`; no other file imports these packages."""

import time
from collections.abc import Sequence
from datetime import timedelta

import gpiod
from gpiod.line import Bias, Direction, Edge, Value
from smbus2 import SMBus, i2c_msg

from leverframe.devices.readings import IN_USE, Unusable, os_error_text
from leverframe.devices.wiring import FilteredPin, Pin

# The kernel's GPIO lines, through the `gpiod` package (version 2), which only this file imports.
#
# The kernel filters glitches, numbers the edges and queues them. If the queue is full, the kernel
# drops the oldest edges. The gap in the numbers shows how many edges were lost; these edges are
# restored.

CONSUMER = "leverframe"
#: Number of edges that the kernel queues: the maximum that it allows for a line.
QUEUED_EDGES = 1024
#: The maximum number of lost edges that are restored; a line that loses more has no valid signal.
MAX_DROPPED_EDGES = 10_000


def output_settings(pin: Pin, on: bool) -> gpiod.LineSettings:
    return gpiod.LineSettings(
        direction=Direction.OUTPUT, active_low=pin.active_low, output_value=_value(on)
    )


def input_settings(pin: FilteredPin, pull_up: bool) -> gpiod.LineSettings:
    return gpiod.LineSettings(
        direction=Direction.INPUT,
        edge_detection=Edge.BOTH,
        # Without a pull-up, an open input must read 0, but a floating input would read noise.
        bias=Bias.PULL_UP if pull_up else Bias.PULL_DOWN,
        active_low=pin.active_low,
        debounce_period=timedelta(milliseconds=pin.debounce_ms),
    )


class KernelLines:
    def open_output(self, pin: Pin, on: bool) -> "KernelOutput":
        return KernelOutput(_request(pin, output_settings(pin, on)), pin)

    def open_input(self, pin: FilteredPin, pull_up: bool) -> "KernelInput":
        return KernelInput(_request(pin, input_settings(pin, pull_up)), pin)

    def describe(self, pin: Pin) -> str:
        try:
            with gpiod.Chip(pin.chip) as chip:
                info = chip.get_line_info(pin.line)
        except (OSError, ValueError) as error:
            raise _unusable(pin, error) from error
        if info.used and info.consumer == CONSUMER:
            return IN_USE
        if info.used:
            raise Unusable(
                f"{_place(pin)} is used by {info.consumer or 'a driver'};"
                " free it or choose another."
            )
        return f"free, named {info.name}" if info.name else "free"


class KernelOutput:
    def __init__(self, request: gpiod.LineRequest, pin: Pin) -> None:
        self._request = request
        self._pin = pin

    def drive(self, on: bool) -> None:
        try:
            self._request.set_value(self._pin.line, _value(on))
        except OSError as error:
            raise _unusable(self._pin, error) from error

    def close(self) -> None:
        self._request.release()


class KernelInput:
    def __init__(self, request: gpiod.LineRequest, pin: Pin) -> None:
        self._request = request
        self._pin = pin
        self._last_number = 0
        self._last_level: int | None = None

    def fileno(self) -> int:
        return self._request.fd

    def level(self) -> int:
        try:
            return int(self._request.get_value(self._pin.line) == Value.ACTIVE)
        except OSError as error:
            raise _unusable(self._pin, error) from error

    def edges(self) -> Sequence[int]:
        try:
            events = self._request.read_edge_events()
        except OSError as error:
            raise _unusable(self._pin, error) from error
        rising = gpiod.EdgeEvent.Type.RISING_EDGE
        levels: list[int] = []
        for event in events:
            level = int(event.event_type == rising)
            dropped = min(event.line_seqno - self._last_number - 1, MAX_DROPPED_EDGES)
            self._last_number = event.line_seqno
            # Rising and falling edges alternate; two equal edges in a row mean that the kernel
            # missed the edge in between.
            if self._last_level is not None and (dropped + level + self._last_level) % 2 == 0:
                dropped += 1
            self._last_level = level
            levels += [level ^ distance & 1 for distance in range(dropped, -1, -1)]
        return levels

    def close(self) -> None:
        self._request.release()


def _value(on: bool) -> Value:
    return Value.ACTIVE if on else Value.INACTIVE


def _request(pin: Pin, settings: gpiod.LineSettings) -> gpiod.LineRequest:
    try:
        return gpiod.request_lines(
            pin.chip,
            {pin.line: settings},
            consumer=CONSUMER,
            event_buffer_size=QUEUED_EDGES,
        )
    except (OSError, ValueError) as error:
        raise _unusable(pin, error) from error


def _unusable(pin: Pin, error: OSError | ValueError) -> Unusable:
    if isinstance(error, FileNotFoundError):
        return Unusable(os_error_text(error, pin.chip))
    if isinstance(error, OSError):
        return Unusable(os_error_text(error, _place(pin)))
    return Unusable(f"{_place(pin)} is missing: {error}.")


def _place(pin: Pin) -> str:
    return f"{pin.chip} line {pin.line}"


# The kernel's I2C bus, through the `smbus2` package, which only this file imports.


class SmbusBus:
    def __init__(self, number: int) -> None:
        self._bus = SMBus(number)

    def write(self, address: int, data: bytes) -> None:
        self._bus.i2c_rdwr(i2c_msg.write(address, data))

    def read(self, address: int, count: int) -> bytes:
        answer = i2c_msg.read(address, count)
        self._bus.i2c_rdwr(answer)
        return bytes(answer)

    def ask(self, address: int, data: bytes, count: int) -> bytes:
        answer = i2c_msg.read(address, count)
        self._bus.i2c_rdwr(i2c_msg.write(address, data), answer)
        return bytes(answer)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        self._bus.close()
