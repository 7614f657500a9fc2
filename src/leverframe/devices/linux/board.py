"""A Linux machine as board: GPIO lines, PWM, converters, the 1-Wire bus, the I2C bus.

The configuration (`wiring.py`) assigns labels to them. Nothing here blocks the event loop: each
chip and each bus has its own thread, so that a hanging device delays no other. A missing or failed
device is reported and retried; its readings are absent until it works.
"""

import asyncio
from collections.abc import Coroutine, Iterator, MutableMapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from leverframe.core.labels import DIGITAL_INPUTS, OUTPUTS, PWMS
from leverframe.core.runtime.event_loop import close_all
from leverframe.core.settings import Settings
from leverframe.devices.linux.device_thread import (
    AdapterWatch,
    DeviceThread,
    Poller,
    Watched,
    file_identity,
)
from leverframe.devices.linux.i2c_parts import OpenBus, open_kernel_bus
from leverframe.devices.linux.i2c_sensors import I2cSensors
from leverframe.devices.linux.onewire import OneWireBus
from leverframe.devices.linux.pins import InputPin, Lines, OutputPin, kernel_lines
from leverframe.devices.linux.sysfs import Converter, PwmPin
from leverframe.devices.readings import Readings, Sense, Troubles, drop_readings
from leverframe.devices.wiring import Wiring

#: How many seconds startup waits for the first readings. Levels that are known at startup cause no
#: edges, so it is worth waiting for them; slower buses report later.
FIRST_LOOK_S = 1.0
#: How many seconds shutdown waits until all outputs are driven.
LAST_DRIVES_S = 2.0


def converters(wiring: Wiring) -> list[Converter]:
    """List the converters that labels are wired to."""
    by_device = sorted(wiring.analog.items(), key=lambda item: item[1].device)
    return [
        Converter(Path(wiring.sysfs), device, dict(channels))
        for device, channels in groupby(by_device, key=lambda item: item[1].device)
    ]


class LinuxBoard:
    kind = "linux"
    bench = None

    def __init__(
        self, wiring: Wiring, lines: Lines | None = None, open_bus: OpenBus = open_kernel_bus
    ) -> None:
        self._wiring = wiring
        self._lines = lines or kernel_lines()
        self._open_bus = open_bus
        self._sense: Sense = drop_readings
        self._sensed: dict[str, Any] = {}
        self._threads: dict[str, DeviceThread] = {}
        self._outputs: dict[str, OutputPin] = {}
        self._inputs: dict[str, InputPin] = {}
        self._pwms: dict[str, PwmPin] = {}
        #: The last driven values, which are restored on chips that are plugged in again.
        self._states: dict[str, bool] = {}
        self._levels: dict[str, float] = {}
        self._hz: list[int] = []
        self._pollers: list[Poller] = []
        #: Buses whose sensors depend on the settings, with their pollers.
        self._followers: list[tuple[OneWireBus | I2cSensors, Poller]] = []
        self._watch: AdapterWatch | None = None

    # --- opening and closing ----------------------------------------------------------------------

    async def open(self, settings: Settings, texts: MutableMapping[str, str]) -> None:
        """Open the devices; record their problems in `texts`, now and later."""
        wiring, sysfs, troubles = self._wiring, Path(self._wiring.sysfs), Troubles(texts)
        self._hz = list(settings.pwm_frequency)
        for pin in (*wiring.outputs.values(), *wiring.digital_inputs.values()):
            self._add_thread(pin.chip, troubles)
        for place in wiring.pwm.values():
            self._add_thread(_pwm_chip(place.chip), troubles)
        self._outputs = {
            label: OutputPin(self._lines, pin) for label, pin in wiring.outputs.items()
        }
        self._pwms = {label: PwmPin(sysfs, place) for label, place in wiring.pwm.items()}
        self._open_inputs(settings, troubles)
        self._add_pollers(troubles)
        self.adopt(settings)
        self._watch = AdapterWatch(self._list_watched())
        await _within(
            FIRST_LOOK_S,
            self._settle_lines(),
            *(_wait_for(poller.start()) for poller in self._pollers),
        )

    async def close(self) -> None:
        """Release the devices; their drivers determine whether the outputs keep their states."""
        if self._watch is not None:
            await self._watch.close()
        for pin in self._inputs.values():
            pin.close()
        await _within(LAST_DRIVES_S, self._settle_lines())
        for label, output in self._outputs.items():
            self._threads[self._wiring.outputs[label].chip].ask(output.close)
        await _within(LAST_DRIVES_S, self._settle_lines())
        for thread in self._threads.values():
            thread.close()
        await close_all(poller.close for poller in self._pollers)

    def adopt(self, settings: Settings) -> None:
        """Apply the settings that concern the buses."""
        for follower, poller in self._followers:
            if follower.adopt(settings):
                poller.poll_soon()

    async def poll(self) -> None:
        """Read every device once more, and wait until all have been read."""
        await asyncio.gather(self._settle_lines(), *(poller.poll() for poller in self._pollers))

    # --- the board's interface --------------------------------------------------------------------

    def connect(self, sense: Sense) -> Readings:
        self._sense = sense
        return dict(self._sensed)

    def drive_output(self, index: int, on: bool) -> None:
        label = OUTPUTS[index]
        if label in self._outputs:
            self._states[label] = on
            self._drive_output(label)

    def drive_pwm(self, index: int, level: float) -> None:
        self._levels[PWMS[index]] = level
        self._drive_pwm(index)

    def set_pwm_frequency(self, group: int, hz: int) -> None:
        self._hz[group] = hz
        for index in (0,) if group == 0 else range(1, len(PWMS)):
            if PWMS[index] in self._levels:
                self._drive_pwm(index)

    def set_pull_up(self, index: int, on: bool) -> None:
        label = DIGITAL_INPUTS[index]
        if label in self._inputs:
            self._inputs[label].set_pull_up(on)

    def next_deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> None:
        """Do nothing, because devices report readings without being called."""

    # --- inside -----------------------------------------------------------------------------------

    def _add_thread(self, chip: str, troubles: Troubles) -> None:
        if chip not in self._threads:
            self._threads[chip] = DeviceThread(chip, troubles.note)

    def _open_inputs(self, settings: Settings, troubles: Troubles) -> None:
        for label, pin in self._wiring.digital_inputs.items():
            thread = self._threads[pin.chip]
            self._inputs[label] = InputPin(
                label, pin, self._lines, thread, self._report_level, troubles
            )
            pull_up = settings.digital_inputs[DIGITAL_INPUTS.index(label)].pull_up
            self._inputs[label].set_pull_up(pull_up)

    def _add_pollers(self, troubles: Troubles) -> None:
        sysfs, wiring = Path(self._wiring.sysfs), self._wiring
        buses: list[OneWireBus | I2cSensors] = []
        if wiring.onewire is not None:
            buses.append(OneWireBus(sysfs, wiring.onewire.extra))
        if wiring.i2c is not None:
            buses.append(I2cSensors(sysfs, wiring.i2c.bus, self._open_bus))
        self._followers = [(bus, Poller(bus, self._report, troubles)) for bus in buses]
        self._pollers = [
            *(Poller(converter, self._report, troubles) for converter in converters(wiring)),
            *(poller for _, poller in self._followers),
        ]

    def _list_watched(self) -> Iterator[Watched]:
        wiring, pwm = self._wiring, Path(self._wiring.sysfs) / "class" / "pwm"
        pins = (*wiring.outputs.values(), *wiring.digital_inputs.values())
        for chip in dict.fromkeys(pin.chip for pin in pins):
            yield Watched(partial(file_identity, Path(chip)), partial(self._chip_changed, chip))
        for number in dict.fromkeys(place.chip for place in wiring.pwm.values()):
            folder = pwm / _pwm_chip(number)
            yield Watched(partial(file_identity, folder), partial(self._pwm_chip_changed, number))
        for bus, poller in self._followers:
            yield Watched(bus.adapters, poller.poll_soon)

    def _chip_changed(self, chip: str) -> None:
        """Reopen every line of a chip that was pulled or plugged in; failures are reported."""
        for label in self._states:
            if self._wiring.outputs[label].chip == chip:
                self._drive_output(label)
        for label, pin in self._wiring.digital_inputs.items():
            if pin.chip == chip:
                self._inputs[label].reopen()

    def _pwm_chip_changed(self, number: int) -> None:
        for index, label in enumerate(PWMS):
            place = self._wiring.pwm.get(label)
            if place is not None and place.chip == number and label in self._levels:
                self._threads[_pwm_chip(number)].ask(self._pwms[label].forget)
                self._drive_pwm(index)

    def _drive_output(self, label: str) -> None:
        thread = self._threads[self._wiring.outputs[label].chip]
        thread.drive(label, partial(self._outputs[label].drive, self._states[label]))

    def _drive_pwm(self, index: int) -> None:
        label = PWMS[index]
        if label in self._pwms:
            level, hz = self._levels[label], self._hz[min(index, 1)]
            thread = self._threads[_pwm_chip(self._wiring.pwm[label].chip)]
            thread.drive(label, partial(self._pwms[label].drive, level, hz))

    def _report_level(self, label: str, level: int | None) -> None:
        self._report({label: level})

    def _report(self, readings: Readings) -> None:
        sensed = self._sensed
        new = {
            label: value
            for label, value in readings.items()
            if label not in sensed or sensed[label] != value
        }
        if new:
            sensed.update(new)
            self._sense(new)

    async def _settle_lines(self) -> None:
        """Wait until all chips have performed the calls made so far."""
        await asyncio.gather(*(thread.ask(_nothing) for thread in self._threads.values()))


def _pwm_chip(number: int) -> str:
    return f"pwmchip{number}"


def _nothing() -> None:
    """Do nothing; calls run in order, so once this call has run, all earlier calls have run."""


async def _wait_for(task: "asyncio.Task[None]") -> None:
    """Wait for a task without cancelling it when the wait is cancelled."""
    await asyncio.shield(task)


async def _within(limit_s: float, *work: Coroutine[Any, Any, None]) -> None:
    """Wait for all tasks up to a time limit, so that a hanging device delays nothing else."""
    tasks = [asyncio.ensure_future(part) for part in work]
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=limit_s)
    for task in late:
        task.cancel()
