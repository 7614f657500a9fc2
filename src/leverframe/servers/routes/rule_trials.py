"""`/api/rules/try`: run a rule on recorded values of the last hours, in a process of its own."""

from typing import Annotated

from msgspec import Meta

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table import schedule
from leverframe.commands.table.matching import find, items_of
from leverframe.commands.table.refusals import Malformed, Refusal
from leverframe.commands.table.rules import EVENT_ROW
from leverframe.commands.table.stage import NO_HASHES, Stage
from leverframe.controller import Controller
from leverframe.engine.rule_trial import encode_rule_trial, recorded_sources
from leverframe.engine.settings import Settings
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import recorded_pieces
from leverframe.servers.routes.what_if import INSTEAD, duration_in
from leverframe.storage.history.reading import TimeSpan

PARAMETERS = (
    QueryParameter(
        "for",
        Annotated[str, Meta(description="A duration such as 24h.")],
        "How far to look back: 1s to 7d, 24h if not given.",
    ),
)
#: What may stand beside the rule: a time window that it would have.
_BESIDE = schedule.ENTRY_ROWS


async def rule_trial(context: Context) -> Reply:
    controller = context.controller
    for_s = duration_in(context.request.query or "")
    settings, index = _settings_with(controller, context.request.body.decode(errors="replace"))
    now = controller.clock.read().wall
    sources = tuple(sorted(recorded_sources(settings, index)))
    span = TimeSpan(sources, now - for_s, now, 1, now)
    zone = controller.engine.machine.timezone
    body = await context.handlers.work.run(
        encode_rule_trial,
        *(settings, index, controller.profile, zone, (span.first, span.last)),
        fed=recorded_pieces(controller, span),
        instead=INSTEAD,
    )
    return Reply(200, JSON, body, (NOT_KEPT,))


def _settings_with(controller: Controller, body: str) -> tuple[Settings, int]:
    """Return the settings as the commands would leave them, and the place of the rule they set."""
    items = items_of(body.strip())
    stage = Stage(controller.profile, controller.pending, None, NO_HASHES)
    places: list[int] = []
    for call in find("GET", EVENT_ROW.form.path, items, controller.profile):
        if isinstance(call, Refusal):
            raise call
        if call.row is EVENT_ROW:
            places.append(call.values["A"])
        elif call.row not in _BESIDE:
            raise _no_rule(body)
        call.perform(stage, None)
    if len(places) != 1:
        raise _no_rule(body)
    return stage.settings, places[0]


def _no_rule(body: str) -> Malformed:
    return Malformed(
        f"{body[:80]!r} sets no rule.",
        allowed="one command of the form event=A*B*C..., with & and schedset=... or scheddel=... "
        "where its time window changes",
    )
