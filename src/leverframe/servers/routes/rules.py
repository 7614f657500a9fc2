"""`/api/rules`: every rule with its state, why it acts or not, when it did, and advice."""

import asyncio
from functools import lru_cache

from leverframe.commands.table.rules import actions_of, event_query, sources_of
from leverframe.controller import Controller
from leverframe.engine.rule_advice import Advice, Offer, advise
from leverframe.engine.rule_report import RuleReport, report
from leverframe.engine.settings import Settings, numbered_rules
from leverframe.naming.units import unit_of
from leverframe.profile import Profile
from leverframe.servers.routes.context import Context


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
            numbered_rules(settings.rules),
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
