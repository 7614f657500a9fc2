"""How `/sim.cgi` moves virtual time: by seconds, to the next due moment, or to a condition."""

import math
from collections.abc import Callable, Iterable

from msgspec import Struct

from leverframe.commands.table.refusals import BadValue, ConditionNotMet, Conflict
from leverframe.controller import Controller
from leverframe.durations import (
    DAY_S,
    MAX_ADVANCE_S,
    BadDuration,
    seconds_from_text,
    text_from_seconds,
)
from leverframe.engine.labels import LIGHTING
from leverframe.engine.machine import Value
from leverframe.naming.awaited_conditions import BadCondition, condition_from_text
from leverframe.servers.http.client_presence import ends_with_client

#: Between a condition and how long it is waited for.
WITHIN = "*within:"
DISTANCE = f"0 to {MAX_ADVANCE_S:.0f} in one request, or next"


class AwaitedCondition(Struct, frozen=True):
    text: str
    holds: Callable[[], bool]


class Advance(Struct, frozen=True):
    #: None: to the next deadline.
    seconds: float | None
    #: Ends the advance early; that it does not come to hold is refused afterwards.
    until: AwaitedCondition | None = None

    async def carry_out(self, controller: Controller) -> None:
        """Move the time; it stands where it got to when the client leaves."""
        with ends_with_client():
            if self.until is None or self.seconds is None:
                await controller.advance(self.seconds)
                return
            is_reached = await controller.advance_until(self.until.holds, self.seconds)
        if not is_reached:
            within = text_from_seconds(self.seconds)
            raise ConditionNotMet(f"{self.until.text!r} was not met within {within}.")


def advance_from_text(text: str, controller: Controller) -> Advance:
    """Read what stands behind `advance=`."""
    _require_virtual_time(controller)
    if text == "next":
        return Advance(None)
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise BadValue(f"{text!r} is not a number.", value=text, allowed=DISTANCE)
    if seconds < 0:
        raise _no_distance(text)
    # Adding 0.0 makes minus zero zero.
    return Advance(seconds + 0.0)


def wait_from_text(text: str, controller: Controller) -> Advance:
    """Read what stands behind `until=`: `CONDITION`, or `CONDITION*within:TIME`."""
    _require_virtual_time(controller)
    condition, mark, within = text.rpartition(WITHIN)
    if not mark:
        condition = text
    try:
        judge = condition_from_text(condition, controller.engine.settings)
        seconds = seconds_from_text(within) if mark else DAY_S
    except BadCondition as error:
        raise BadValue(error.detail, value=text, allowed=error.allowed) from None
    except BadDuration as error:
        raise BadValue(str(error), value=within, allowed=f"CONDITION{WITHIN}TIME") from None

    def present(label: str) -> Value:
        # A restart in the course of the wait makes another engine.
        engine = controller.engine
        return engine.inputs.lighting[label] if label in LIGHTING else engine.values[label]

    return Advance(seconds, AwaitedCondition(condition, lambda: judge(present)))


def check_distance(steps: Iterable[object]) -> None:
    """Refuse to move time further than one request may, with all of its items."""
    seconds = sum(step.seconds or 0 for step in steps if isinstance(step, Advance))
    if seconds > MAX_ADVANCE_S:
        raise _no_distance(f"{seconds:.0f}")


def _no_distance(seconds: str) -> BadValue:
    return BadValue(
        f"The time cannot be advanced by {seconds} seconds.",
        value=seconds,
        allowed=DISTANCE,
    )


def _require_virtual_time(controller: Controller) -> None:
    if not controller.clock.is_virtual:
        raise Conflict(
            "The controller runs on real time; start with --virtual-time to advance the time."
        )
