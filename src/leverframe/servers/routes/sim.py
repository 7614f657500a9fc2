"""`/sim.cgi`: the test bench of the simulated board, in the same joined style as the commands.

`DS1=21.5` makes the board feel something, `DS1=none` unplugs it; `onewire=28:FF:...` attaches a
sensor to the bus, `onewire=none` clears it; `i2c` and `barcode` say which sensor answers and what
was scanned. `plant=room*heater:PWM0*reading:DS1*...` wires a plant between outputs and inputs (see
`hardware/plant_wiring.py`), `plant=none` removes all, and `DS1=plant` shows again what a plant
gives there. On virtual time `ping=HOST:MILLISECONDS` and `ping=HOST:none` say which hosts answer,
and `advance=SECONDS` or `advance=next` moves the time. All items are checked first, then carried
out in order.
"""

import math
from collections.abc import Callable
from typing import Any

from leverframe.clock import VirtualClock
from leverframe.commands.codes import I2C_SENSORS
from leverframe.commands.params import NOTHING_SEEN, OneWireId, Text, decoded
from leverframe.commands.refusals import BadValue, Conflict, Malformed, Refusal, UnknownCommand
from leverframe.controller import Controller
from leverframe.durations import MOST_S
from leverframe.engine.labels import DIGITAL_INPUTS
from leverframe.hardware.plant_wiring import BadPlant, plant_from_text
from leverframe.hardware.simulated import FELT, SimulatedBoard

NONE = "none"
PLANT = "plant"
MOST_MILLISECONDS = 60_000.0

#: Seconds to advance (None: to the next deadline), or something to do at once.
Step = Callable[[], None] | float | None


class Bench:
    def __init__(self, controller: Controller, board: SimulatedBoard) -> None:
        self._controller = controller
        self._board = board

    def steps(self, query: str) -> list[Step]:
        """What the items of a query ask for, or the refusal of the first bad one."""
        return [self._step(item) for item in query.split("&") if item]

    async def run(self, query: str) -> None:
        """Carry out all items of a query, or refuse and carry out none."""
        for step in self.steps(query):
            if callable(step):
                step()
            else:
                await self._controller.advance(step)

    def _step(self, item: str) -> Step:
        name, equals, raw = item.partition("=")
        if not equals:
            raise Malformed(f"{item[:60]!r} has no value.", command=item[:120])
        try:
            return self._parse(decoded(name), raw)
        except Refusal as refusal:
            raise refusal.of(item[:120], name[:40]) from None

    def _parse(self, name: str, raw: str) -> Step:
        text = decoded(raw)
        if name == "advance":
            return self._advance(text)
        if name == PLANT:
            return self._plant(text)
        if name == "ping":
            return self._ping(text)
        if name == "onewire":
            if text == NONE:
                return self._board.clear_onewire
            sensor_id = OneWireId().parse(raw, self._controller.profile, NOTHING_SEEN)
            return lambda: self._board.attach_onewire(sensor_id)
        if text == PLANT and name in FELT:
            return lambda: self._board.plug(name)
        reading = self._reading(name, text, raw)
        return lambda: self._board.feel({name: reading})

    def _reading(self, name: str, text: str, raw: str) -> Any:
        if name == "i2c":
            return _one_of(text, (*I2C_SENSORS[1:], NONE))
        if name == "barcode":
            return Text(64).parse(raw, self._controller.profile, NOTHING_SEEN)
        if name in DIGITAL_INPUTS:
            level = _one_of(text, ("0", "1", NONE))
            return None if level is None else int(level)
        if name in FELT:
            return None if text == NONE else _number(text)
        raise UnknownCommand(
            f"The simulated board has no {name[:40]!r}.",
            allowed="advance, plant, ping, onewire, i2c, barcode, " + ", ".join(sorted(FELT)),
        )

    def _plant(self, text: str) -> Callable[[], None]:
        if text == NONE:
            return self._board.unwire_all
        try:
            plant = plant_from_text(text)
        except BadPlant as error:
            raise BadValue(error.detail, value=error.value or None, allowed=error.allowed) from None
        return lambda: self._board.wire(plant)

    def _ping(self, text: str) -> Callable[[], None]:
        self._require_virtual_time(
            "Pings go to real hosts here; start with --virtual-time to answer them by hand."
        )
        host, _, answer = text.rpartition(":")
        if not host:
            raise BadValue(f"{text!r} names no host.", value=text, allowed="HOST:MILLISECONDS")
        milliseconds = None if answer == NONE else _number(answer)
        if milliseconds is not None and not 0 <= milliseconds <= MOST_MILLISECONDS:
            raise BadValue(
                f"{answer} ms is not possible.",
                value=answer,
                allowed=f"0 to {MOST_MILLISECONDS:g}, or none",
            )
        return lambda: self._board.hosts.set_answer(host, milliseconds)

    def _require_virtual_time(self, otherwise: str) -> None:
        if not isinstance(self._controller.clock, VirtualClock):
            raise Conflict(otherwise)

    def _advance(self, text: str) -> float | None:
        self._require_virtual_time(
            "Time runs by itself here; start with --virtual-time to move it by hand."
        )
        if text == "next":
            return None
        seconds = _number(text)
        if not 0 <= seconds <= MOST_S:
            raise BadValue(
                f"{text} seconds cannot be advanced.",
                value=text,
                allowed=f"0 to {MOST_S:.0f}, or next",
            )
        return seconds


def _one_of(text: str, allowed: tuple[str, ...]) -> str | None:
    if text not in allowed:
        raise BadValue(f"{text!r} is not possible.", value=text, allowed=", ".join(allowed))
    return None if text == NONE else text


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadValue(f"{text!r} is not a number.", value=text, allowed="a number, or none")
    return number
