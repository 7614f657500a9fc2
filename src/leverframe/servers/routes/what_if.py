"""`/api/what-if`: what commands would change in the coming hours; nothing is done.

The controller as it is at this moment is copied twice, and one copy gets the commands. Both replay
the recorded readings of the same number of hours, and simulate the plants of a simulated board.
That happens in a process of its own, with a budget.
"""

import asyncio
from typing import Annotated

from msgspec import Meta

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.params import decode_text
from leverframe.commands.table.refusals import BadValue
from leverframe.commands.table.stage import NO_HASHES, Stage
from leverframe.commands.table.written_commands import parse_commands, perform_written
from leverframe.durations import DAY_S, BadDuration, seconds_from_text
from leverframe.engine.live_state import export_state
from leverframe.engine.what_if import TriedChange, encode_what_if, labels_needed
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import read_pieces
from leverframe.storage.history.reading import TimeSpan

MAX_S = 7 * DAY_S
PARAMETERS = (
    QueryParameter(
        "for",
        Annotated[str, Meta(description="A duration, such as 24h.")],
        "How far to look ahead: 1s to 7d; default: 24h.",
    ),
)


#: What to do where it is too much.
INSTEAD = "a shorter time in `for`, or rules that switch less often"


async def try_commands(context: Context) -> Reply:
    controller = context.controller
    for_s = duration_in(context.request.query or "")
    commands = parse_commands(context.request.body.decode(errors="replace"))
    stage = Stage(
        controller.profile, controller.pending, controller.engine.inputs.i2c_found, NO_HASHES
    )
    perform_written(commands, stage)
    change = TriedChange(stage.settings, tuple(stage.actions))
    bench = controller.board.bench
    plants = None if bench is None else export_state(bench.plants)
    fed = set() if bench is None else bench.plants.fed
    followed = set() if bench is None else bench.plants.followed
    state, at = export_state(controller.engine), controller.clock.read()
    labels = (await asyncio.to_thread(labels_needed, state, change) | followed) - fed
    span = TimeSpan(tuple(sorted(labels)), at.wall - for_s, at.wall, 1, at.wall)
    body = await context.handlers.work.run(
        encode_what_if,
        *(state, at, for_s, change, plants),
        fed=read_pieces(controller, span),
        instead=INSTEAD,
    )
    return Reply(200, JSON, body, (NOT_KEPT,))


def duration_in(query: str) -> float:
    if not query:
        return DAY_S
    name, _, text = query.partition("=")
    if name != "for":
        raise BadValue(f"There is no {name[:40]!r}.", field=name[:40], allowed="for=TIME")
    try:
        seconds = seconds_from_text(decode_text(text))
    except BadDuration as error:
        raise BadValue(str(error), field="for", allowed="1s to 7d") from None
    if not 1.0 <= seconds <= MAX_S:
        raise BadValue("This is not possible.", field="for", allowed="1s to 7d")
    return seconds
