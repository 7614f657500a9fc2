"""`leverframe fleet simulate`: simulate a fleet file with the events of its controllers.

    [[controllers]]
    name = "gh-{n}"
    count = 20
    tags = ["north"]

    [[at]]                            # "06:00", "+90s", "2d 3h", or a local date and time
    time = "06:00"
    tag = ["north"]                   # the controllers, or name = ["gh-1"]; default: all
    sim = "DS1=4&INPD1=1"             # what the boards sense, as for /sim.cgi
    commands = ["/outs.cgi?out0=1"]

The whole file is checked before the run. Time is virtual, and the same for all controllers. Two
runs with the same events end with the same digest.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from leverframe.core.durations import text_from_seconds
from leverframe.core.errors import DONE, NO, print_json
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.fleet.bulk import BulkReport, each, send
from leverframe.fleet.fleet_file import AT, FleetFile, is_tables, read_fleet
from leverframe.fleet.groups import WINDOW_S, advance_together, journal_digest
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.serve import node_of, start_controllers
from leverframe.host.configuration.reader import Sources
from leverframe.host.scenario import BadScenario, seconds_after
from leverframe.host.serve import clock_of
from leverframe.interface.table.command_text import calls_of, parse_commands
from leverframe.interface.table.refusals import Malformed, Refusal
from leverframe.server.routes.sim import SimCommands
from leverframe.server.routes.sim_time import Advance
from leverframe.storage.lanes.lane import MemoryLane

#: The recorded cause of the commands of a scenario.
BY_SCENARIO = "scenario"
_LISTS = ("name", "tag", "commands")
_KEYS = ("time", "sim", *_LISTS)


class FleetHappening(Struct, frozen=True):
    """The orders of one moment, and the controllers they concern."""

    after_s: float
    line: str
    names: tuple[str, ...]
    tags: tuple[str, ...]
    sim: str | None
    commands: tuple[str, ...]


async def simulate_fleet(sources: Sources, for_s: float, as_json: bool) -> int:
    """Run a scenario; return 1 if a controller refused an order."""
    tables = sources.values.pop(AT, [])
    sources.values["virtual_time"] = True
    fleet = read_fleet(sources)
    happenings, mistakes = _happenings(tables, sources, fleet)
    _refuse([*(mistake.sentence for mistake in fleet.mistakes), *mistakes])
    web = await node_of(fleet.config, MemoryLane(), clock_of(fleet.config))
    try:
        _refuse(
            await start_controllers(web, fleet.controllers, as_json=as_json, tenants=fleet.tenants)
        )
        _refuse([one for happening in happenings for one in _mistakes(web.node, happening)])
        refused = await _live(web.node, happenings, for_s, as_json)
        _sum_up(web.node, for_s, as_json)
    finally:
        await web.node.close()
    return NO if refused else DONE


async def _live(
    node: FleetNode, happenings: Sequence[FleetHappening], for_s: float, as_json: bool
) -> int:
    controllers = [member.controller for member in node.members.values()]
    elapsed_s, refused = 0.0, 0
    for happening in happenings:
        if happening.after_s > for_s:
            break
        await advance_together(controllers, happening.after_s - elapsed_s, WINDOW_S)
        elapsed_s = happening.after_s
        for what, report in await _happen(node, happening):
            refused += report.refused
            _print_step(happening, what, report, as_json)
    await advance_together(controllers, for_s - elapsed_s, WINDOW_S)
    return refused


async def _happen(node: FleetNode, happening: FleetHappening) -> list[tuple[str, BulkReport]]:
    members = node.select(happening.names, happening.tags)
    reports = []
    if happening.sim is not None:
        text = happening.sim

        async def sense(member: Member) -> None:
            await _bench(member).run(text)

        reports.append((text, await each(members, sense)))
    for command in happening.commands:
        report = await send(members, command, BY_SCENARIO, dry_run=False, all_or_none=False)
        reports.append((command, report))
    return reports


def _bench(member: Member) -> SimCommands:
    bench = member.controller.board.bench
    # Virtual time is only possible with simulated boards.
    assert bench is not None
    return SimCommands(member.controller, bench)


# --- checking -------------------------------------------------------------------------------------


def _refuse(mistakes: Sequence[str]) -> None:
    if mistakes:
        raise BadScenario("\n".join(mistakes))


def _happenings(
    tables: Any, sources: Sources, fleet: FleetFile
) -> tuple[list[FleetHappening], list[str]]:
    """Return the events in order of time, and a sentence for each mistake."""
    if not is_tables(tables):
        raise BadScenario(f"{sources.line((AT,))}: write {AT} as [[{AT}]] tables.")
    zone = fleet.config.zone()
    start = fleet.config.first_moment() or VirtualClock.START
    found: list[FleetHappening] = []
    mistakes: list[str] = []
    for index, table in enumerate(tables):
        line = sources.line((AT, index))
        after_s = seconds_after(table.get("time"), start, zone)
        wrong = [
            f"{sources.line((AT, index, key))}: unknown key {key}. Known keys: {', '.join(_KEYS)}."
            for key in table
            if key not in _KEYS
        ]
        wrong += [f"{line}: {sentence}" for sentence in _misshapen(table, after_s)]
        mistakes += wrong
        if not wrong and after_s is not None:
            names, tags, commands = (tuple(table.get(key, ())) for key in _LISTS)
            sim = table.get("sim")
            found.append(FleetHappening(after_s, line, names, tags, sim, commands))
    return sorted(found, key=lambda happening: happening.after_s), mistakes


def _misshapen(table: Mapping[str, Any], after_s: float | None) -> Iterator[str]:
    if after_s is None or after_s < 0:
        yield (
            "this is not a time of the run. Write a time of day such as 06:00, or a duration"
            " from the start such as +90s."
        )
    if not isinstance(table.get("sim", ""), str):
        yield 'sim must be a string such as "DS1=21.5&INPD1=0".'
    for key in _LISTS:
        texts = table.get(key, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            yield f'{key} must be a list of strings: {key} = ["...", "..."].'


def _mistakes(node: FleetNode, happening: FleetHappening) -> Iterator[str]:
    """Yield mistakes: events that choose no controller, and orders that no controller accepts."""
    try:
        members = node.select(happening.names, happening.tags)
    except Refusal as refusal:
        yield f"{happening.line}: {refusal.at_its_place}"
        return
    profiles = {member.controller.profile for member in members}
    checks = [partial(_check_command, text, profiles) for text in happening.commands]
    if happening.sim is not None and members:
        checks.insert(0, partial(_check_sim, happening.sim, members[0]))
    for check in checks:
        try:
            check()
        except Refusal as refusal:
            yield f"{happening.line}: {refusal.at_its_place}"


def _check_sim(text: str, member: Member) -> None:
    if any(isinstance(step, Advance) for step in _bench(member).steps(text)):
        raise Malformed(
            "advance and until are not allowed in scenarios: use the time of [[at]] instead."
        )


def _check_command(text: str, profiles: set[Profile]) -> None:
    """Refuse a command that none of these versions has; other problems appear at run time."""
    commands = parse_commands(text)
    if len(commands) != 1:
        raise Malformed(f"{text[:40]!r} contains several commands.", allowed="one per string")
    refusals = []
    for profile in sorted(profiles, key=str):
        try:
            for _ in calls_of(commands[0], profile):
                pass
        except Refusal as refusal:
            refusals.append(refusal)
    if refusals and len(refusals) == len(profiles):
        raise refusals[-1]


# --- reporting ------------------------------------------------------------------------------------


def _print_step(happening: FleetHappening, what: str, report: BulkReport, as_json: bool) -> None:
    refusals = [result for result in report.results if result.detail is not None]
    if as_json:
        line = {"after": happening.after_s, "what": what, "done": report.done}
        print_json({**line, "refused": {one.name: one.detail for one in refusals}})
        return
    after = text_from_seconds(happening.after_s)
    print(f"{after}: {what}: done {report.done}, refused {report.refused}")
    for one in refusals:
        print(f"  {one.name}: {one.detail}")


def _sum_up(node: FleetNode, for_s: float, as_json: bool) -> None:
    controllers = [member.controller for member in node.members.values()]
    entries = sum(one.engine.machine.journal.count for one in controllers)
    digest = journal_digest(controllers)
    if as_json:
        print_json({"controllers": len(controllers), "entries": entries, "digest": digest})
        return
    lived = text_from_seconds(for_s)
    print(
        f"simulated {lived} for {len(controllers)} controllers; {entries} entries in their journals"
    )
    print(f"digest {digest}")
