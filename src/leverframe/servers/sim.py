"""`/sim.cgi`: the test bench of the simulated board, in the same joined style as the commands.

`DS1=21.5` makes the board feel something, `DS1=none` unplugs it; `onewire=28:FF:...` attaches a
sensor to the bus, `onewire=none` clears it; `i2c` and `barcode` say which sensor answers and what
was scanned. `advance=SECONDS` or `advance=next` moves virtual time. All items are checked first,
then carried out in order.
"""

import math
from collections.abc import Callable
from typing import Any

from leverframe.clock import VirtualClock
from leverframe.commands.codes import I2C_SENSORS
from leverframe.commands.params import NOTHING_SEEN, OneWireId, Text, decoded
from leverframe.commands.refusals import BadValue, Conflict, Malformed, Refusal, UnknownCommand
from leverframe.controller import Controller
from leverframe.engine.labels import DIGITAL_INPUTS
from leverframe.hardware.simulated import FELT, SimulatedBoard

NONE = "none"
#: A hundred years: enough for anybody, and short enough that no number overflows.
MOST_SECONDS = 3.2e9

#: Seconds to advance (None: to the next deadline), or something to do at once.
Step = Callable[[], None] | float | None


class Bench:
    def __init__(self, controller: Controller, board: SimulatedBoard) -> None:
        self._controller = controller
        self._board = board

    async def run(self, query: str) -> None:
        """Carry out all items of a query, or refuse and carry out none."""
        steps = [self._step(item) for item in query.split("&") if item]
        for step in steps:
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
        if name == "onewire":
            if text == NONE:
                return self._board.clear_onewire
            sensor_id = OneWireId().parse(raw, self._controller.profile, NOTHING_SEEN)
            return lambda: self._board.attach_onewire(sensor_id)
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
            allowed="advance, onewire, i2c, barcode, " + ", ".join(sorted(FELT)),
        )

    def _advance(self, text: str) -> float | None:
        if not isinstance(self._controller.clock, VirtualClock):
            raise Conflict(
                "Time runs by itself here; start with --virtual-time to move it by hand."
            )
        if text == "next":
            return None
        seconds = _number(text)
        if not 0 <= seconds <= MOST_SECONDS:
            raise BadValue(
                f"{text} seconds cannot be advanced.",
                value=text,
                allowed=f"0 to {MOST_SECONDS:.0f}, or next",
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
