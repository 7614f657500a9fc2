"""`/api/rules/try`: run a rule on the recorded values of the last hours, off the event loop."""

from datetime import tzinfo
from math import isnan
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table import schedule
from leverframe.commands.table.matching import find, items_of
from leverframe.commands.table.refusals import Malformed, Refusal
from leverframe.commands.table.rules import EVENT_ROW
from leverframe.commands.table.stage import NO_HASHES, Stage
from leverframe.controller import Controller
from leverframe.engine.rule_trial import (
    RuleTrial,
    sources_of_trial,
    try_rule,
    turning,
    turns_of_trial,
)
from leverframe.engine.schedule_windows import course_of_window, windows_of
from leverframe.engine.settings import Settings
from leverframe.engine.timeline import Course
from leverframe.profile import Profile
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import ask_history
from leverframe.servers.routes.what_if import duration_in
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.reading import TimeSpan, raw

PARAMETERS = (
    QueryParameter(
        "for",
        Annotated[str, Meta(description="A duration such as 24h.")],
        "How far to look back: 1s to 7d, 24h if not given.",
    ),
)
#: What may stand beside the rule: a time window that it would have.
_BESIDE = schedule.ENTRY_ROWS


class _Tried(Struct, frozen=True):
    settings: Settings
    place: int
    profile: Profile
    timezone: tzinfo
    span: TimeSpan


async def rule_trial(context: Context) -> Reply:
    controller = context.controller
    for_s = duration_in(context.request.query or "")
    settings, index = _settings_with(controller, context.request.body.decode(errors="replace"))
    now = controller.clock.read().wall
    span = TimeSpan((), now - for_s, now, 1, now)
    tried = _Tried(settings, index, controller.profile, controller.engine.machine.timezone, span)
    trial = await ask_history(controller, lambda compactor: _trial(compactor, tried))
    return Reply(200, JSON, msgspec.json.encode(trial), (NOT_KEPT,))


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


def _trial(compactor: Compactor, tried: _Tried) -> RuleTrial:
    rules, index, span = tried.settings.rules, tried.place, tried.span
    windows = windows_of(tried.settings)
    courses: dict[str, Course] = {}
    for label in sources_of_trial(rules, index) - windows.keys():
        times, values = raw(compactor, span, label)
        course = ((t, None if isnan(v) else v) for t, v in zip(times, values, strict=True))
        courses[label] = turning(course, turns_of_trial(rules, index, label))
    begins = [course[0][0] for course in courses.values() if course]
    for label in sources_of_trial(rules, index) & windows.keys():
        window = course_of_window(windows[label], span.first, span.last, tried.timezone)
        courses[label] = list(window)
        begins = begins or ([span.first] if len(courses) == 1 else [])
    firings, turns = try_rule(rules, index, courses, (span.first, span.last), tried.profile)
    return RuleTrial(span.first, span.last, min(begins, default=None), firings, turns)
