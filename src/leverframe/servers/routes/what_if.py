"""`/api/what-if`: what commands would change in the coming hours; nothing is done.

The controller as it is at this moment is copied twice, and one copy gets the commands. Both live
through the recorded readings of as many hours as if they came again, and through what the plants of
a simulated board make of the outputs. It is worked out beside the event loop, where the history is.
"""

from math import isnan
from typing import Annotated

import msgspec
from msgspec import Meta

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.params import decoded
from leverframe.commands.table.refusals import BadValue
from leverframe.commands.table.stage import NO_HASHES, Stage
from leverframe.commands.table.written_commands import perform_written, written_commands
from leverframe.durations import DAY_S, BadDuration, seconds_from_text
from leverframe.engine.live_state import exported, imported
from leverframe.engine.timeline import Course
from leverframe.engine.what_if import TriedChange, WhatIf, labels_needed, what_if
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import ask_history
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.reading import TimeSpan, raw

MAX_S = 7 * DAY_S
PARAMETERS = (
    QueryParameter(
        "for",
        Annotated[str, Meta(description="A duration such as 24h.")],
        "How far to look ahead: 1s to 7d, 24h if not given.",
    ),
)


async def tried_commands(context: Context) -> Reply:
    controller = context.controller
    for_s = duration_in(context.request.query or "")
    commands = written_commands(context.request.body.decode(errors="replace"))
    stage = Stage(
        controller.profile, controller.pending, controller.engine.inputs.i2c_found, NO_HASHES
    )
    perform_written(commands, stage)
    change = TriedChange(stage.settings, tuple(stage.actions))
    bench = controller.board.bench
    plants = None if bench is None else exported(bench.plants)
    worlds = (None, None) if plants is None else (imported(plants), imported(plants))
    state, at = exported(controller.engine), controller.clock.read()

    def work(compactor: Compactor) -> WhatIf:
        fed = set() if worlds[0] is None else worlds[0].fed
        labels = labels_needed(state, change) - fed
        courses = recorded_again(compactor, labels, at.wall, for_s)
        return what_if(state, at, for_s, change, courses, worlds)

    result = await ask_history(controller, work)
    return Reply(200, JSON, msgspec.json.encode(result), (NOT_KEPT,))


def recorded_again(
    compactor: Compactor, labels: set[str], wall: float, for_s: float
) -> dict[str, Course]:
    """Return the readings of the time before a moment as if they came again after it."""
    span = TimeSpan((), wall - for_s, wall, 1, wall)
    courses: dict[str, Course] = {}
    for label in sorted(labels):
        times, values = raw(compactor, span, label)
        courses[label] = [
            (time + for_s, None if isnan(value) else value)
            for time, value in zip(times, values, strict=True)
        ]
    return courses


def duration_in(query: str) -> float:
    if not query:
        return DAY_S
    name, _, text = query.partition("=")
    if name != "for":
        raise BadValue(f"There is no {name[:40]!r}.", field=name[:40], allowed="for=TIME")
    try:
        seconds = seconds_from_text(decoded(text))
    except BadDuration as error:
        raise BadValue(str(error), field="for", allowed="1s to 7d") from None
    if not 1.0 <= seconds <= MAX_S:
        raise BadValue("This is not possible.", field="for", allowed="1s to 7d")
    return seconds
