"""Every version, from any settings to any others and back, by a unit that is not Leverframe.

A plan reaches all that it can, overwrites nothing unseen without naming it, and keeps every rule on
that is wanted before and after.
"""

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, RulePlaces, Settings, number_rules
from leverframe.core.tree import MISSING, defaults, difference, is_confidential, with_value
from leverframe.host.command_line.entry import carry_out
from leverframe.interface.plan.rule_order import effect_of
from leverframe.interface.table.lookup import DOCUMENT_ROWS
from leverframe.testing import Twin
from leverframe.units.client import open_paced_client
from leverframe.units.file_update import save_unit_file
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_plan import UnitPlan, read_plans
from leverframe.units.unit_reader import pull_unit
from tests.random_settings import random_settings
from tests.units.plain_front import Fate, PlainFront, plain_front

pytestmark = pytest.mark.usefixtures("lift_pacing")

#: Every hardware, with software of several generations; quick runs take the newest.
VERSIONS = [
    *(Profile("3.0", "1.58a"), Profile("3.5", "1.30"), Profile("3.6", "1.44")),
    *(Profile("3.7", "1.49"), Profile("3.8", "1.60a"), Profile("3.9", "1.75")),
]
#: The document can set it and not take it back.
ONE_WAY = "serial.sdm_bitrate"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def random_tree(profile: Profile, random: Random) -> Settings:
    """Made by the document's commands, with rules of a small supply and without accounts."""
    tree = random_settings(profile, random, 12, DOCUMENT_ROWS)
    return replace(tree, rules=random_rules(random), access=defaults(profile).access)


def random_rules(random: Random) -> tuple[Rule, ...]:
    rules: dict[str, Rule] = {}
    for source in random.sample([f"DS{number}" for number in range(1, 7)], random.randint(1, 5)):
        rules[source] = Rule(
            source=source,
            reference=float(random.randint(1, 2)),
            enabled=random.random() < 0.8,
            permanent=random.random() < 0.2,
            off_delay=random.choice((0, 300)),
        )
    return tuple(rules.values())


def live(rules: RulePlaces) -> Counter[Rule]:
    """Count the enabled rules by what they do."""
    return Counter(effect_of(rule) for _, rule in number_rules(rules) if rule.enabled)


def list_kept_rules(seen: PulledUnit, wanted: RulePlaces) -> set[Rule]:
    """Return the rules that a unit shows as enabled and that are wanted so."""
    kept = live(seen.settings.rules) & live(wanted)
    return {replace(effect, off_delay=0) for effect in kept}


def settings_of(twin: Twin) -> Settings:
    return twin.controller.engine.settings


async def pull_through(front: PlainFront) -> PulledUnit:
    async with open_paced_client(front.url, paced=False) as client:
        return await pull_unit(client)


def differing(one: PulledUnit, other: PulledUnit) -> set[str]:
    """Return what two looks at a unit show differently."""
    return {
        path
        for path, _, _ in difference(one.settings, other.settings)
        if one.why_unread(path) is None and one.why_lossy(path) is None
    }


def overwritten_unseen(before: Settings, after: Settings, seen: PulledUnit) -> set[str]:
    """Return what the unit does not show and is another value now; rules by what they do."""
    changed = {
        path
        for path, old, _ in difference(before, after)
        if seen.why_unread(path) is not None and not path.startswith("rules.")
        # A secret that is forgotten with what it belongs to stands for that.
        if old is not MISSING
    }
    delays = {replace(effect_of(rule), off_delay=0): rule for _, rule in number_rules(before.rules)}
    for number, rule in number_rules(after.rules):
        old_rule = delays.get(replace(effect_of(rule), off_delay=0))
        if seen.why_unread(f"rules.{number - 1}.off_delay") is not None and old_rule is not None:
            changed |= (
                {f"rules.{number - 1}.off_delay"} if rule.off_delay != old_rule.off_delay else set()
            )
    return changed


@pytest.mark.parametrize(
    ("number", "profile"),
    [
        *(pytest.param(*case, marks=pytest.mark.thorough) for case in enumerate(VERSIONS[:-1])),
        (len(VERSIONS) - 1, VERSIONS[-1]),
    ],
    ids=str,
)
async def test_any_settings_lead_to_any_others_and_back(number: int, profile: Profile) -> None:
    random = Random(str(profile))
    before, wanted = (random_tree(profile, random) for _ in range(2))
    if number % 2:
        # A poor front does not show the lock, and a locked unit refuses what moves outputs.
        before = with_value(before, "output_flags.lock", False)
    given = {path: value for path, _, value in difference(defaults(profile), before)}
    states: list[set[Rule]] = []
    with Twin(hw=profile.hw, sw=profile.sw, settings=given) as twin:

        def look(_: int, target: str) -> Fate:
            on = live(settings_of(twin).rules)
            states.append({replace(effect, off_delay=0) for effect in on})
            return None

        with plain_front(twin, rich=number % 2 == 0) as front:
            began = settings_of(twin)
            first = await pull_through(front)
            unread = {*first.unread} - {f"rules.{place}.off_delay" for place in range(20)}
            save_unit_file(Path("unit.toml"), wanted, profile, unread)
            front.fate = look
            assert await run("plan", "unit.toml", front.url, "--out", "plan.json") in (0, 1)
            (plan,) = read_plans(Path("plan.json"))
            assert await run("apply", "plan.json", "--yes") == 0
            assert list_kept_rules(first, wanted.rules) <= set.intersection(*states)
            reached = await pull_through(front)
            check_reached(plan, wanted, first, reached)
            named = {one.path for one in plan.unreadable if one.fate != "kept"}
            assert overwritten_unseen(began, settings_of(twin), first) <= named
            assert front.ignored == []
            states.clear()
            assert await run("rollback", journal_of_unit(), "--yes") in (0, 1)
            assert list_kept_rules(reached, first.settings.rules) <= set.intersection(*states)
            left = differing(first, await pull_through(front))
            # A regulator has moved its duty in between.
            assert {path for path in left if not reached.why_unread(path)} <= {ONE_WAY}


def check_reached(plan: UnitPlan, wanted: Settings, first: PulledUnit, reached: PulledUnit) -> None:
    left_out = {one.path for one in plan.left_out}
    missing = {
        path
        for path, _, _ in difference(reached.settings, wanted)
        if reached.why_unread(path) is None and reached.why_lossy(path) is None
        if first.why_unread(path) is None and not is_confidential(path)
    }
    assert missing <= left_out
    assert left_out <= {ONE_WAY}


def journal_of_unit() -> str:
    (journal,) = Path("unit-journal").glob("*.jsonl")
    return str(journal)


async def run(*words: str) -> int:
    """Run a command in a thread, as it has an event loop of its own."""
    return await asyncio.to_thread(carry_out, ["unit", *words])
