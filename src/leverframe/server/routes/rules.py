"""`/api/rules` and `/api/what-if`: the rules, trials of rules, and forecasts of commands."""

import asyncio
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from leverframe.core.durations import DAY_S, BadDuration, seconds_from_text
from leverframe.core.engine.machine import export_state
from leverframe.core.engine.rule_advice import Advice, Offer, advise
from leverframe.core.engine.rule_report import RuleReport, encode_rule_trial, find_sources, report
from leverframe.core.engine.what_if import TriedChange, encode_what_if, labels_needed
from leverframe.core.profile import Profile
from leverframe.core.settings import MAX_RULES, Settings, free_place, number_rules
from leverframe.host.controller import Controller
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.descriptions.schemas import JSON
from leverframe.interface.names import own_names, unit_of
from leverframe.interface.rule_words import Names, read_rule
from leverframe.interface.table import schedule
from leverframe.interface.table.command_text import parse_commands, perform_written
from leverframe.interface.table.lookup import find, items_of
from leverframe.interface.table.params import decode_text
from leverframe.interface.table.refusals import BadValue, Conflict, Malformed, NotOffered, Refusal
from leverframe.interface.table.rules import (
    EVENT_ROW,
    actions_of,
    enabling_commands,
    event_query,
    sources_of,
)
from leverframe.interface.table.stage import NO_HASHES, Stage
from leverframe.server.http.messages import NOT_KEPT, Reply
from leverframe.server.routes.context import Context
from leverframe.server.routes.history import read_pieces
from leverframe.storage.history.queries import TimeSpan

# `/api/what-if`: show what commands would change in the coming hours, without running them.
#
# The controller's current state is copied twice, and one copy runs the commands. Both copies replay
# the recorded readings of the same number of past hours, and simulate the plants of a simulated
# board. This runs in a separate process, with a budget.

MAX_S = 7 * DAY_S
PARAMETERS = (
    QueryParameter(
        "for",
        Annotated[str, Meta(description="A duration, such as 24h.")],
        "How far to look ahead: 1s to 7d; default: 24h.",
    ),
)


#: Advice to the client if the work takes too long.
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
        raise BadValue("The duration is out of range.", field="for", allowed="1s to 7d")
    return seconds


# `/api/rules` and `/api/rules/try`: the current rules, and the trial of a rule.
#
# A rule is shown with its state, why it acts or does not act, when it acted, and advice. A trial
# runs a rule on recorded values of the last hours, in a separate process.

TRIAL_PARAMETERS = (
    QueryParameter(
        "for",
        Annotated[str, Meta(description="A duration, such as 24h.")],
        "How far to look back: 1s to 7d; default: 24h.",
    ),
)
#: Commands that may accompany the rule: they set the time window that it uses.
_BESIDE = schedule.ENTRY_ROWS


async def rules(context: Context) -> Reply:
    """List the rules; if the request contains a rule as text, add it and list only this rule."""
    place = None
    if context.request.method == "POST":
        place = free_place(context.controller.pending.rules)
        refusal = await _add_rule(context, place)
        if refusal is not None:
            return refusal
    reports = await rule_reports(context)
    listed = [one for one in reports if place is None or one.number == place + 1]
    return Reply(200, JSON, msgspec.json.encode(listed), (NOT_KEPT,))


async def _add_rule(context: Context, place: int) -> Reply | None:
    """Add and enable a rule by the commands that set it; return the refusal if there is one."""
    profile, settings = context.controller.profile, context.controller.pending
    labels: dict[str, list[str]] = {}
    for label, name in own_names(settings).items():
        labels.setdefault(name, []).append(label)
    rule = read_rule(context.request.body.decode(errors="replace"), Names(profile, labels))
    if place == MAX_RULES:
        raise Conflict(f"All {MAX_RULES} rules are in use. Delete one with /inpa.cgi?eventdel=....")
    query = event_query(place, rule, profile)
    if query is None:
        raise NotOffered(f"{profile} has no command for this rule.", allowed="another action")
    query = "&".join([query, *enabling_commands(place, rule)])
    request = replace(context.request, path=EVENT_ROW.form.path, query=query, body=b"")
    commands = context.handlers.commands
    answer = commands.handle(request, commands.commands(request), context.account)
    reply = answer if isinstance(answer, Reply) else await answer
    return None if reply.status == 200 else reply


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
    """Compute the advice off the event loop, which other controllers of the process need."""
    while True:
        engine, profile = controller.engine, controller.profile
        values, settings = engine.values, engine.settings
        measured = frozenset(one for one in sources_of(profile) if values.get(one) is not None)
        advice = await asyncio.to_thread(_advice, settings, profile, measured)
        if controller.engine.settings is settings:
            return advice


@lru_cache(maxsize=16)
def _advice(settings: Settings, profile: Profile, measured: frozenset[str]) -> list[Advice]:
    """Return cached advice: trials of loops can take 0.1 s, and pages request it often."""
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
    """Return the settings that the commands would produce, and the number of the rule they set."""
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
