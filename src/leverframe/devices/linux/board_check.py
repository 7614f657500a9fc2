"""The checks of `leverframe board check`, which test devices without driving any output.

Inputs and serial ports are opened as the service opens them, and the files of PWM channels as if
for writing; converters, sensors and buses are read. Output lines are only queried: opening one
would drive it, and releasing it might switch it off.
"""

import fcntl
import os
import termios
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from leverframe.core.settings import I2c
from leverframe.devices.linux.board import converters
from leverframe.devices.linux.i2c_parts import NOT_ITS_FAULT, OpenBus, bus_file
from leverframe.devices.linux.i2c_sensors import I2cSensors, too_fast
from leverframe.devices.linux.onewire import OneWireBus
from leverframe.devices.linux.pins import Lines
from leverframe.devices.linux.sysfs import PwmPin
from leverframe.devices.readings import IN_USE, Unusable, os_error_text
from leverframe.devices.wiring import FilteredPin, OledWiring, OneWireWiring, Pin, Wiring


class PartCheck(NamedTuple):
    label: str
    place: str
    is_good: bool
    #: The result, or the problem and its solution.
    text: str


def part_checks(wiring: Wiring, lines: Lines, open_bus: OpenBus) -> Iterator[PartCheck]:
    yield from _of_lines(wiring, lines)
    yield from _of_pwm(wiring)
    yield from _of_converters(wiring)
    if wiring.onewire is not None:
        yield from _of_onewire(Path(wiring.sysfs), wiring.onewire)
    if wiring.i2c is not None:
        yield from _of_i2c(I2cSensors(Path(wiring.sysfs), wiring.i2c.bus, open_bus))
    if wiring.oled is not None:
        yield from display_checks(wiring.oled, open_bus)


def display_checks(wiring: OledWiring, open_bus: OpenBus) -> Iterator[PartCheck]:
    """Check whether the display answers, by reading its status; its picture does not change."""
    place = f"/dev/i2c-{wiring.bus} address 0x{wiring.address:02X}"
    try:
        bus = open_bus(wiring.bus)
    except Unusable as fault:
        yield PartCheck("display", place, False, str(fault))
        return
    try:
        bus.read(wiring.address, 1)
    except OSError as error:
        text = "does not answer; check its wires, its supply and the address."
        if error.errno in NOT_ITS_FAULT:
            text = os_error_text(error, str(bus_file(wiring.bus)))
        yield PartCheck("display", place, False, text)
    else:
        yield PartCheck("display", place, True, "answers")
    finally:
        bus.close()


def port_checks(ports: Mapping[str, str]) -> Iterator[PartCheck]:
    """Open the serial ports as the service opens them, without sending; `ports` is by use."""
    for label, path in ports.items():
        try:
            _try_port(path)
        except (IsADirectoryError, termios.error):
            text = (
                f"{path} is not connected to a serial port; check the adapter and the "
                "configuration."
            )
            yield PartCheck(label, path, False, text)
        except OSError as error:
            yield PartCheck(label, path, False, os_error_text(error, path))
        else:
            yield PartCheck(label, path, True, "serial port, can be opened")


def _try_port(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        termios.tcgetattr(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def _of_lines(wiring: Wiring, lines: Lines) -> Iterator[PartCheck]:
    pins: Iterable[tuple[str, Pin]] = (*wiring.outputs.items(), *wiring.digital_inputs.items())
    for label, pin in pins:
        place = f"{pin.chip} line {pin.line}"
        try:
            text = lines.describe(pin)
            if isinstance(pin, FilteredPin) and text != IN_USE:
                text = f"{text}; level {_level(lines, pin)}"
            yield PartCheck(label, place, True, text)
        except Unusable as fault:
            yield PartCheck(label, place, False, str(fault))


def _level(lines: Lines, pin: FilteredPin) -> int:
    """Read an input as the service does, which also shows whether its driver can report edges."""
    line = lines.open_input(pin, pull_up=False)
    try:
        return line.level()
    finally:
        line.close()


def _of_pwm(wiring: Wiring) -> Iterator[PartCheck]:
    for label, channel in wiring.pwm.items():
        place = f"pwmchip{channel.chip} channel {channel.channel}"
        try:
            yield PartCheck(label, place, True, PwmPin(Path(wiring.sysfs), channel).describe())
        except Unusable as fault:
            yield PartCheck(label, place, False, str(fault))


def _of_converters(wiring: Wiring) -> Iterator[PartCheck]:
    for converter in converters(wiring):
        result = converter.poll()
        for label, value in result.readings.items():
            channel = wiring.analog[label]
            place = f"{channel.device} {channel.channel}"
            unit = "°C" if label == "TEMP" else "V"
            trouble = result.troubles.get(label)
            yield PartCheck(label, place, trouble is None, trouble or f"{value:g} {unit}")


def _of_onewire(sysfs: Path, wiring: OneWireWiring) -> Iterator[PartCheck]:
    bus = OneWireBus(sysfs, ())
    try:
        found = bus.search()
    except Unusable as fault:
        yield PartCheck("1-Wire", bus.name, False, str(fault))
        return
    yield PartCheck("1-Wire", bus.name, True, f"{len(found)} sensors")
    slots = {sensor_id: f"slot {4 + at}" for at, sensor_id in enumerate(wiring.extra)}
    for sensor_id in found:
        label = slots.pop(sensor_id, "sensor")
        try:
            yield PartCheck(label, sensor_id, True, f"{bus.measure(sensor_id)} °C")
        except Unusable as fault:
            yield PartCheck(label, sensor_id, False, str(fault))
    for sensor_id, slot in slots.items():
        yield PartCheck(slot, sensor_id, False, "not on the bus; check its wires.")


def _of_i2c(sensors: I2cSensors) -> Iterator[PartCheck]:
    try:
        found = sensors.survey()
    except Unusable as fault:
        yield PartCheck("I2C", sensors.name, False, str(fault))
        return
    for name, complaint in found.items():
        yield PartCheck(name, sensors.name, complaint is None, complaint or "answers")
    if not found:
        text = "no known sensor answers; check its wires and its supply."
        yield PartCheck("I2C", sensors.name, False, text)
    bus_khz, max_khz = sensors.bus_khz(), I2c().frequency
    if bus_khz is not None and bus_khz > max_khz:
        yield PartCheck("I2C", sensors.name, True, too_fast(sensors.name, bus_khz, max_khz))
