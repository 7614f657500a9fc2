"""The findings of `leverframe board check`: every wired device is read once, none is driven.

GPIO lines are only asked for, the files of PWM channels are opened as if to be written; converters,
sensors and buses are read.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from leverframe.engine.settings import I2c
from leverframe.hardware.gpio import Lines
from leverframe.hardware.i2c_bus import OpenBus
from leverframe.hardware.i2c_sensors import I2cSensors, too_fast
from leverframe.hardware.linux import converters
from leverframe.hardware.onewire import OneWireBus
from leverframe.hardware.sysfs_pwm import PwmPin
from leverframe.hardware.troubles import Unusable, told
from leverframe.wiring import OledWiring, OneWireWiring, Wiring


class Finding(NamedTuple):
    label: str
    place: str
    is_good: bool
    #: What was found, or what is missing and what to do.
    text: str


def findings(wiring: Wiring, lines: Lines, open_bus: OpenBus) -> Iterator[Finding]:
    yield from _of_lines(wiring, lines)
    yield from _of_pwm(wiring)
    yield from _of_converters(wiring)
    if wiring.onewire is not None:
        yield from _of_onewire(Path(wiring.sysfs), wiring.onewire)
    if wiring.i2c is not None:
        yield from _of_i2c(I2cSensors(Path(wiring.sysfs), wiring.i2c.bus, open_bus))
    if wiring.oled is not None:
        yield from display_findings(wiring.oled, open_bus)


def display_findings(wiring: OledWiring, open_bus: OpenBus) -> Iterator[Finding]:
    """Find whether the display answers; its status is read, so it keeps its picture."""
    place = f"/dev/i2c-{wiring.bus} address 0x{wiring.address:02X}"
    try:
        bus = open_bus(wiring.bus)
    except Unusable as fault:
        yield Finding("display", place, False, str(fault))
        return
    try:
        bus.read(wiring.address, 1)
    except OSError:
        text = "does not answer; check its wires, its supply and the address."
        yield Finding("display", place, False, text)
    else:
        yield Finding("display", place, True, "answers")
    finally:
        bus.close()


def port_findings(ports: Mapping[str, str]) -> Iterator[Finding]:
    """List serial ports by use; they are not opened, somebody may be using them."""
    for label, path in ports.items():
        try:
            is_port = stat.S_ISCHR(os.stat(path).st_mode)
            if is_port and not os.access(path, os.R_OK | os.W_OK):
                raise PermissionError(errno.EACCES, "not permitted")
        except OSError as error:
            yield Finding(label, path, False, told(error, path))
        else:
            yield Finding(label, path, is_port, "serial port" if is_port else "no serial port")


def _of_lines(wiring: Wiring, lines: Lines) -> Iterator[Finding]:
    for label, pin in (*wiring.outputs.items(), *wiring.digital_inputs.items()):
        place = f"{pin.chip} line {pin.line}"
        try:
            yield Finding(label, place, True, lines.describe(pin))
        except Unusable as fault:
            yield Finding(label, place, False, str(fault))


def _of_pwm(wiring: Wiring) -> Iterator[Finding]:
    for label, channel in wiring.pwm.items():
        place = f"pwmchip{channel.chip} channel {channel.channel}"
        try:
            yield Finding(label, place, True, PwmPin(Path(wiring.sysfs), channel).describe())
        except Unusable as fault:
            yield Finding(label, place, False, str(fault))


def _of_converters(wiring: Wiring) -> Iterator[Finding]:
    for converter in converters(wiring):
        look = converter.look()
        for label, value in look.readings.items():
            channel = wiring.analog[label]
            place = f"{channel.device} {channel.channel}"
            unit = "°C" if label == "TEMP" else "V"
            trouble = look.troubles.get(label)
            yield Finding(label, place, trouble is None, trouble or f"{value:g} {unit}")


def _of_onewire(sysfs: Path, wiring: OneWireWiring) -> Iterator[Finding]:
    bus = OneWireBus(sysfs, ())
    try:
        found = bus.search()
    except Unusable as fault:
        yield Finding("1-Wire", bus.name, False, str(fault))
        return
    yield Finding("1-Wire", bus.name, True, f"{len(found)} sensors")
    slots = {sensor_id: f"slot {4 + at}" for at, sensor_id in enumerate(wiring.extra)}
    for sensor_id in found:
        celsius = bus.measure(sensor_id)
        text = "no reading; check its wires and its supply" if celsius is None else f"{celsius} °C"
        yield Finding(slots.pop(sensor_id, "sensor"), sensor_id, celsius is not None, text)
    for sensor_id, slot in slots.items():
        yield Finding(slot, sensor_id, False, "not on the bus; check its wires.")


def _of_i2c(sensors: I2cSensors) -> Iterator[Finding]:
    try:
        primary = sensors.search()
        has_sps30 = sensors.has_sps30()
    except Unusable as fault:
        yield Finding("I2C", sensors.name, False, str(fault))
        return
    found = [name for name in (primary, "SPS30" if has_sps30 else None) if name is not None]
    yield Finding("I2C", sensors.name, True, " and ".join(found) or "no sensor that is known")
    bus_khz, max_khz = sensors.bus_khz(), I2c().frequency
    if bus_khz is not None and bus_khz > max_khz:
        yield Finding("I2C", sensors.name, True, too_fast(sensors.name, bus_khz, max_khz))
