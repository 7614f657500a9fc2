"""The simulated board: a test bench for the whole controller.

What it senses is set by whoever plays with it (`feel`, `unplug`, the page, `/sim.cgi`); what it is
told to drive is remembered with its time in a bounded history. A fresh board is a bare one on a
12 V supply in a room: no sensors are plugged in and the digital inputs are open.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from leverframe.engine.labels import (
    ANALOG_INPUTS,
    DIGITAL_INPUTS,
    MAPPED,
    ONEWIRE,
    PARTICULATES,
)
from leverframe.hardware.board import Readings, Sense

#: Everything that can be given a value on this board.
FELT = frozenset(
    {
        *("VCC", "TEMP", "T1", "H1", "P1", "CO2", "DISTANCE"),
        *ANALOG_INPUTS,
        *DIGITAL_INPUTS,
        *ONEWIRE,
        *PARTICULATES,
        *MAPPED,
    }
)
BARE = {"VCC": 12.0, "TEMP": 25.0, **dict.fromkeys(ANALOG_INPUTS, 0.0)}
#: What a 1-Wire sensor that was just attached measures.
ROOM_TEMPERATURE = 20.0
KEPT_HISTORY = 1000


class Driven(NamedTuple):
    now: float
    what: str
    value: float | int


class SimulatedBoard:
    kind = "simulated"

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._felt: dict[str, Any] = dict(BARE)
        self._bus: list[str] = []
        self._sense: Sense = _nobody_listens
        self.outputs = [False] * 6
        self.levels = [0.0] * 4
        self.history: deque[Driven] = deque(maxlen=KEPT_HISTORY)

    def connect(self, sense: Sense) -> Readings:
        self._sense = sense
        return {**self._felt, "onewire": tuple(self._bus)}

    def drive_output(self, index: int, on: bool) -> None:
        self.outputs[index] = on
        self.history.append(Driven(self._now(), f"OUT{index}", int(on)))

    def drive_pwm(self, index: int, level: float) -> None:
        self.levels[index] = level
        self.history.append(Driven(self._now(), f"PWM{index}", level))

    def set_pwm_frequency(self, group: int, hz: int) -> None:
        self.history.append(Driven(self._now(), "PWM0 Hz" if group == 0 else "PWM1-3 Hz", hz))

    def set_pull_up(self, index: int, on: bool) -> None:
        self.history.append(Driven(self._now(), f"INPD{index + 1} pull-up", int(on)))

    def feel(self, readings: Readings) -> None:
        """Change what the board senses; None unplugs."""
        self._felt.update(readings)
        self._sense(readings)

    def attach_onewire(self, sensor_id: str) -> None:
        """Plug a sensor into the 1-Wire bus."""
        if sensor_id not in self._bus:
            self._bus.append(sensor_id)
        self.feel({sensor_id: self._felt.get(sensor_id, ROOM_TEMPERATURE), **self._bus_reading()})

    def clear_onewire(self) -> None:
        """Unplug every sensor of the 1-Wire bus."""
        gone = dict.fromkeys(self._bus)
        self._bus.clear()
        self.feel({**gone, **self._bus_reading()})

    def _bus_reading(self) -> dict[str, tuple[str, ...]]:
        return {"onewire": tuple(self._bus)}


def _nobody_listens(readings: Readings) -> None:
    """Until a controller is connected nobody hears what the board senses."""
