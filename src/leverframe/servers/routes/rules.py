"""`/api/rules` and `/api/rules/try`: rules as they are, and one that is tried.

A rule is shown with its state, why it acts or not, when it did, and advice. One is tried on
recorded values of the last hours, in a process of its own.
"""

import asyncio
from functools import lru_cache
from typing import Annotated

from msgspec import Meta

from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table import schedule
from leverframe.commands.table.matching import find, items_of
from leverframe.commands.table.refusals import Malformed, Refusal
from leverframe.commands.table.rules import EVENT_ROW, actions_of, event_query, sources_of
from leverframe.commands.table.stage import NO_HASHES, Stage
from leverframe.controller import Controller
from leverframe.engine.rule_advice import Advice, Offer, advise
from leverframe.engine.rule_report import RuleReport, report
from leverframe.engine.rule_trial import encode_rule_trial, find_sources
from leverframe.engine.settings import Settings, number_rules
from leverframe.naming.units import unit_of
from leverframe.profile import Profile
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.context import Context
from leverframe.servers.routes.history import read_pieces
from leverframe.servers.routes.what_if import INSTEAD, duration_in
from leverframe.storage.history.reading import TimeSpan

TRIAL_PARAMETERS = (
    QueryParameter(
        "for",
        Annotated[str, Meta(description="A duration, such as 24h.")],
        "How far to look back: 1s to 7d; default: 24h.",
    ),
)
#: What may stand beside the rule: a time window that it would have.
_BESIDE = schedule.ENTRY_ROWS


async def rule_reports(context: Context) -> list[RuleReport]:
    controller = context.controller
    advice = await _advice_on(controller)
    engine, profile = controller.engine, controller.profile
    settings, now = engine.settings, controller.clock.read().now
    return [
        report(
            rule,
            explanation,
            firings,
            advice,
            lambda label: unit_of(label, settings),
            event_query(number - 1, rule, profile),
        )
        for (number, rule), explanation, firings in zip(
            number_rules(settings.rules),
            engine.rules.explain(now),
            engine.rules.firings(),
            strict=True,
        )
    ]


async def _advice_on(controller: Controller) -> list[Advice]:
    """Work the advice out beside the loop, which other controllers of the process may need."""
    while True:
        engine, profile = controller.engine, controller.profile
        values, settings = engine.values, engine.settings
        measured = frozenset(one for one in sources_of(profile) if values.get(one) is not None)
        advice = await asyncio.to_thread(_advice, settings, profile, measured)
        if controller.engine.settings is settings:
            return advice


@lru_cache(maxsize=16)
def _advice(settings: Settings, profile: Profile, measured: frozenset[str]) -> list[Advice]:
    """Return cached advice: loop trials can take a tenth of a second and a page asks often."""
    return advise(settings, Offer(profile, sources_of(profile), actions_of(profile)), measured)


async def rule_trial(context: Context) -> Reply:
    controller = context.controller
    for_s = duration_in(context.request.query or "")
    settings, index = _settings_with(controller, context.request.body.decode(errors="replace"))
    now = controller.clock.read().wall
    sources = tuple(sorted(find_sources(settings, index)))
    span = TimeSpan(sources, now - for_s, now, 1, now)
    zone = controller.engine.machine.timezone
    body = await context.handlers.work.run(
        encode_rule_trial,
        *(settings, index, controller.profile, zone, (span.first, span.last)),
        fed=read_pieces(controller, span),
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
        f"{body[:80]!r} does not set a rule.",
        allowed="one command of the form event=A*B*C..., followed by & and schedset=... or "
        "scheddel=... if its time window changes",
    )
