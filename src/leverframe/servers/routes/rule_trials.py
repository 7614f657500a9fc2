"""`/api/rules/try`: run a rule on the recorded values of the last 24 hours, off the event loop."""

from collections.abc import Sequence
from math import isnan

import msgspec

from leverframe.commands.describe.openapi import JSON
from leverframe.commands.table.matching import Call, find
from leverframe.commands.table.refusals import Malformed, Refusal
from leverframe.commands.table.rules import EVENT_ROW
from leverframe.commands.table.stage import NO_HASHES, Stage
from leverframe.controller import Controller
from leverframe.engine.rule_trial import (
    DAY_S,
    RuleTrial,
    sources_of_trial,
    try_rule,
    turning,
    turns_of_trial,
)
from leverframe.engine.settings import Rule
from leverframe.engine.timeline import Course
from leverframe.profile import Profile
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import HistoryUnreadable
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.reading import TimeSpan, raw
from leverframe.storage.store import StoreUnavailable


async def rule_trial(context: Context) -> Reply:
    controller, command = context.controller, context.request.body.decode(errors="replace").strip()
    assert controller.history is not None
    rules, index = _rules_with(controller, command)
    now, profile = controller.clock.read().wall, controller.profile
    try:
        trial = await controller.history.ask(
            lambda compactor: _tried(compactor, rules, index, now, profile)
        )
    except StoreUnavailable as error:
        raise HistoryUnreadable(str(error)) from error
    return Reply(200, JSON, msgspec.json.encode(trial), (NOT_KEPT,))


def _rules_with(controller: Controller, command: str) -> tuple[tuple[Rule, ...], int]:
    """Return all rules as the command would leave them, and the position of the one it sets."""
    call = next(find("GET", EVENT_ROW.form.path, [command], controller.profile), None)
    if isinstance(call, Refusal):
        raise call
    if not isinstance(call, Call) or call.row is not EVENT_ROW:
        raise _no_rule(command)
    before = controller.pending
    stage = Stage(controller.profile, before, None, NO_HASHES)
    call.perform(stage, None)
    return stage.settings.rules, min(call.values["A"], len(before.rules))


def _no_rule(command: str) -> Malformed:
    return Malformed(
        f"{command[:80]!r} sets no rule.", allowed="one command of the form event=A*B*C..."
    )


def _tried(
    compactor: Compactor, rules: Sequence[Rule], index: int, now: float, profile: Profile
) -> RuleTrial:
    span = TimeSpan((), now - DAY_S, now, 1, now)
    courses: dict[str, Course] = {}
    for label in sources_of_trial(rules, index):
        times, values = raw(compactor, span, label)
        course = ((t, None if isnan(v) else v) for t, v in zip(times, values, strict=True))
        courses[label] = turning(course, turns_of_trial(rules, index, label))
    begins = [course[0][0] for course in courses.values() if course]
    firings = try_rule(rules, index, courses, (span.first, span.last), profile)
    return RuleTrial(span.first, span.last, min(begins, default=None), firings)
