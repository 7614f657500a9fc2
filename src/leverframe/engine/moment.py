"""One reading of the clock.

The engine never asks for the time: every call hands it one `Moment`, and all that happens in the
call happens at that moment. Delays count `now`; the schedule and the log use `wall`.
"""

from typing import Annotated

import msgspec

#: A moment of the controller's clock, as replies show it.
WallTime = Annotated[float, msgspec.Meta(description="Seconds since 1970.")]

#: A clock that shows an earlier time was never set (1 January 2025).
SET_CLOCK = 1_735_689_600.0


class Moment(msgspec.Struct, frozen=True, gc=False):
    #: Monotonic seconds; never steps, and only differences have a meaning.
    now: float
    #: Seconds since 1970 UTC of the controller's own clock; steps when it is set.
    wall: float
