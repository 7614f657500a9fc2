"""The inverse of the commands: a plan leads to the wanted settings, and reports where it cannot."""

from collections.abc import Sequence
from itertools import permutations, product
from random import Random

import pytest
from msgspec.structs import replace

from leverframe.core.engine.calls import MODBUS_WRITES
from leverframe.core.profile import Profile
from leverframe.core.settings import ControlUser, Rule, ScheduleEntry, Settings, StoredAccount
from leverframe.core.tree import defaults, difference, is_secret, leaves, with_value
from leverframe.interface.plan.plan_builder import PlannedRequest, try_request
from leverframe.interface.plan.planner import Plan, plan_between
from leverframe.interface.table.lookup import (
    DOCUMENT_ROWS,
    OWN_ROWS,
    REAL_UNIT_ROWS,
    TABLE,
    Call,
    find,
    items_of,
)
from leverframe.interface.table.row import Row
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.limits import Content
from leverframe.testing import LoopTwin
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.effort import some_of
from tests.random_settings import random_settings

NEW = Profile("3.9", "1.75")
OLD = Profile("3.0", "1.58a")
FIVE = (
    Profile("3.0", "1.58a"),
    Profile("3.5", "1.30"),
    Profile("3.7", "1.44"),
    Profile("3.8", "1.57"),
    Profile("3.9", "1.75"),
)
COMMANDS: dict[str, Sequence[Row]] = {
    "document": DOCUMENT_ROWS,
    "real unit": REAL_UNIT_ROWS,
    "Leverframe": TABLE,
}
#: The document can set it and not take it back.
ONE_WAY = "serial.sdm_bitrate"


def targets(plan: Plan) -> list[str]:
    return [step.request.target for step in plan.steps]


def with_values(profile: Profile, **values: object) -> Settings:
    """The factory settings with some leaves: `outputs__0__name="Pump"`."""
    tree = defaults(profile)
    for path, value in values.items():
        tree = with_value(tree, path.replace("__", "."), value)
    return tree


def random_pair(profile: Profile, rows: Sequence[Row], seed: int) -> tuple[Settings, Settings]:
    """Two random trees with the same accounts: stored passwords cannot be sent."""
    random = Random(f"{profile} {seed}")
    one, other = (random_settings(profile, random, random.choice((20, 150)), rows) for _ in "ab")
    return _reachable(one, profile, rows), _reachable(other, profile, rows)


def _reachable(tree: Settings, profile: Profile, rows: Sequence[Row]) -> Settings:
    """Return the tree without accounts, and without actions of ours where the rows have none."""
    rules = tree.rules
    if rows is not TABLE:
        rules = tuple(
            replace(rule, action="OUT0") if rule and rule.action in MODBUS_WRITES else rule
            for rule in rules
        )
    return replace(tree, rules=rules, access=defaults(profile).access)


async def run_plan(twin: LoopTwin, plan: Plan) -> Settings:
    """Send the requests of a plan to a twin; return what its settings became."""
    for step in plan.steps:
        request = step.request
        await twin.ok(request.target, request.method, request.body.encode())
    return twin.controller.engine.settings


@pytest.mark.parametrize(
    ("commands", "profile"), some_of([*product(COMMANDS, PROFILES)][::8]), ids=str
)
async def test_plan_leads_from_any_settings_to_any_others(commands: str, profile: Profile) -> None:
    rows = COMMANDS[commands]
    now, wanted = random_pair(profile, rows, 1)
    there = plan_between(profile, defaults(profile), now, rows=rows)
    plan = plan_between(profile, now, wanted, rows=rows)
    async with await LoopTwin.start(profile) as twin:
        assert await run_plan(twin, there) == now
        result = await run_plan(twin, plan)
    missing = {path for path, *_ in difference(result, wanted)}
    assert missing == {one.path for one in plan.unreachable}
    assert missing <= {ONE_WAY}


@pytest.mark.parametrize(("source", "target"), some_of([*permutations(FIVE, 2)]), ids=str)
async def test_settings_of_another_version_are_planned_as_far_as_supported(
    source: Profile, target: Profile
) -> None:
    _, wanted = random_pair(source, REAL_UNIT_ROWS, 2)
    now, _ = random_pair(target, REAL_UNIT_ROWS, 3)
    content = Content(source, dict(leaves(wanted)), with_secrets=True)
    carried = carry_over(content, target, defaults(target)).settings
    there = plan_between(target, defaults(target), now)
    plan = plan_between(target, now, carried)
    async with await LoopTwin.start(target) as twin:
        await run_plan(twin, there)
        result = await run_plan(twin, plan)
    missing = {path for path, *_ in difference(result, carried)}
    assert missing == {one.path for one in plan.unreachable}
    assert missing <= {ONE_WAY}


@for_each("profile", FIVE, ids=str)
def test_plan_for_a_real_unit_has_only_its_commands_and_switches_nothing(
    profile: Profile,
) -> None:
    _, wanted = random_pair(profile, TABLE, 4)
    plan = plan_between(profile, defaults(profile), wanted)
    own = {row.line for row in OWN_ROWS}
    for step in plan.steps:
        request = step.request
        for call in find(request.method, request.path, items_of(request.query), profile):
            assert isinstance(call, Call)
            assert call.row.line not in own
            assert step.changes or call.row.sets
            assert not request.target.startswith(("/outs.cgi?out", "/outs.cgi?pwm"))


def test_nothing_is_planned_where_nothing_differs() -> None:
    tree = random_settings(NEW, Random(5), 100)
    assert plan_between(NEW, tree, tree) == Plan((), (), tree)


def test_rule_is_off_only_while_it_is_written_and_changes_after_what_it_needs() -> None:
    old = Rule(source="DS1", reference=20.0, enabled=True)
    now = with_values(NEW, rules=(old,))
    wanted = with_values(
        NEW,
        rules=(replace(old, reference=21.5, action="OUT1"),),
        analog_inputs__0__sensor="PT1000",
        outputs__1__return_time=60,
    )
    written = "event=0*10*0*2150*0*0*1*0*0*0*0*0*1*0*0*0"
    assert targets(plan_between(NEW, now, wanted)) == [
        "/inpa.cgi?sensor=013",
        "/outs.cgi?ortime=160",
        "/inpa.cgi?eventon=0*0",
        f"/inpa.cgi?{written}",
        "/inpa.cgi?eventon=0*1",
    ]
    # All or nothing: it is never off.
    assert targets(plan_between(NEW, now, wanted, rows=TABLE))[-1] == f"/inpa.cgi?{written}"


def test_rule_is_named_by_an_own_command_and_an_unread_name_is_left_alone() -> None:
    now, named = (with_values(NEW, rules=(Rule(name=name),)) for name in ("", "50 % & more"))
    plan = plan_between(NEW, now, named, rows=TABLE)
    assert targets(plan) == ["/inpa.cgi?rulename=0*50%20%25%20%26%20more"]
    assert plan.settings == named
    assert [one.path for one in plan_between(NEW, now, named).unreachable] == ["rules.0.name"]
    other = with_values(NEW, rules=(Rule(reference=5.0),))
    (only,) = targets(plan_between(NEW, named, other, rows=TABLE, unread=["rules.0.name"]))
    assert only.startswith("/inpa.cgi?event=0*")


@pytest.mark.parametrize(
    ("now", "wanted", "queries"),
    [
        ("A", "-A", ["eventdel=0", "event=1"]),
        ("--A", "AB", ["eventdel=2", "event=0", "event=1"]),
        ("ABC", "A-C", ["eventdel=2", "eventdel=1", "event=2"]),
        ("A-C", "ABC", ["event=1"]),
        ("A-B-C", "A-B", ["eventdel=4"]),
        ("", "---A", ["event=3"]),
    ],
)
async def test_plan_reaches_empty_places_between_rules(
    now: str, wanted: str, queries: list[str]
) -> None:
    def settings(places: str) -> Settings:
        sources = {"A": "DS1", "B": "DS2", "C": "DS3"}
        rules = tuple(None if one == "-" else Rule(source=sources[one]) for one in places)
        return with_values(NEW, rules=rules)

    plan = plan_between(NEW, settings(now), settings(wanted))
    assert [step.request.query.partition("*")[0] for step in plan.steps] == queries
    async with await LoopTwin.start(NEW) as twin:
        there = plan_between(NEW, settings(""), settings(now))
        assert await run_plan(twin, there) == settings(now)
        assert await run_plan(twin, plan) == settings(wanted)


def test_rule_that_does_not_change_is_left_alone() -> None:
    rules = tuple(Rule(reference=float(value), enabled=True) for value in range(4))
    now = with_values(NEW, rules=rules)
    plan = plan_between(NEW, now, with_values(NEW, rules=(rules[0], *rules[2:])))
    assert targets(plan) == ["/inpa.cgi?eventon=1*0", "/inpa.cgi?eventdel=1"]


def test_unsupported_rule_keeps_its_place_disabled_and_is_listed() -> None:
    impossible = Rule(source="DIFF6", action="OUT0", enabled=True)
    wanted = with_values(OLD, rules=(impossible, Rule(source="DS2", enabled=True)))
    plan = plan_between(OLD, defaults(OLD), wanted)
    assert [rule.enabled for rule in plan.settings.rules] == [False, True]
    assert plan.settings.rules[1].source == "DS2"
    assert {one.path for one in plan.unreachable} == {"rules.0.source", "rules.0.enabled"}


def test_action_of_ours_is_not_sent_to_a_real_unit() -> None:
    wanted = with_values(NEW, rules=(Rule(action="MODBUS WRITE 1"),))
    assert "rules.0.action" in {
        x.path for x in plan_between(NEW, defaults(NEW), wanted).unreachable
    }
    assert not plan_between(NEW, defaults(NEW), wanted, rows=TABLE).unreachable


def test_lock_is_lifted_only_for_what_it_forbids_and_is_back_behind_it() -> None:
    now = with_values(NEW, output_flags__lock=True)
    named = with_value(now, "outputs.0.name", "Pump")
    assert targets(plan_between(NEW, now, named)) == ["/stm.cgi?oname=0Pump"]
    moved = with_value(named, "outputs.0.return_time", 5)
    assert targets(plan_between(NEW, now, moved)) == [
        "/stm.cgi?outblock=0",
        "/stm.cgi?oname=0Pump",
        "/outs.cgi?ortime=05",
        "/stm.cgi?outblock=1",
    ]


def test_times_of_periodic_switching_come_before_it_begins_and_after_it_ends() -> None:
    off = with_values(NEW, outputs__0__on_time=5)
    on = with_values(NEW, outputs__0__on_time=9, outputs__0__periodic=True)
    assert targets(plan_between(NEW, off, on)) == ["/outs.cgi?atout=0*9", "/outs.cgi?aout=01"]
    assert targets(plan_between(NEW, on, off)) == ["/outs.cgi?aout=00", "/outs.cgi?atout=0*5"]


def test_accounts_come_last() -> None:
    wanted = with_values(NEW, access__admin__name="keeper", outputs__0__name="Pump")
    wanted = with_value(wanted, "schedule.0", ScheduleEntry(name="Morning"))
    *_, last = targets(plan_between(NEW, defaults(NEW), wanted))
    assert last.startswith("/stm.cgi?auth=")


def test_given_password_is_sent_and_hashed_password_is_listed() -> None:
    wanted = with_values(
        NEW,
        access__admin=StoredAccount("admin", "a new password"),
        access__user=StoredAccount("user", "$argon2id$x"),
    )
    plan = plan_between(NEW, defaults(NEW), wanted)
    assert plan.settings.access.admin.password == "a new password"
    (left,) = plan.unreachable
    assert left.path == "access.user.password"
    assert "specify the password itself" in left.reason


def test_control_users_without_a_password_to_give_stay_as_they_are() -> None:
    known = ControlUser("anna", "$argon2id$a", True)
    now = with_values(NEW, access__users__0=known)
    wanted = with_values(
        NEW,
        access__users__0=replace(known, active=False),
        access__users__1=ControlUser("boris", "plain text", True),
        access__users__2=ControlUser("carla", "$argon2id$c", True),
    )
    plan = plan_between(NEW, now, wanted)
    assert plan.settings.access.users[:3] == (
        replace(known, active=False),
        ControlUser("boris", "plain text", True),
        None,
    )
    assert {one.path.rpartition(".")[0] for one in plan.unreachable} == {"access.users.2"}


def test_unread_settings_are_left_alone() -> None:
    now = defaults(NEW)
    wanted = with_values(NEW, email__host="mail.example", watchdog__0__host="router.example")
    plan = plan_between(NEW, now, wanted, unread=["email", "watchdog"], named=["email.host"])
    assert targets(plan) == ["/stm.cgi?em1=mail.example"]


def test_wanted_unread_settings_are_sent_always() -> None:
    now = wanted = with_values(NEW, gsm__code="0000")
    plan = plan_between(NEW, now, wanted, unread=["gsm"], named=["gsm.code"])
    assert targets(plan) == ["/stm.cgi?gsmcode=0000"]
    assert plan.steps[0].changes == (("gsm.code", "0000", "0000"),)


def test_readings_of_modbus_devices_that_could_not_be_read_are_all_sent() -> None:
    tree = defaults(NEW)
    plan = plan_between(NEW, tree, tree, unread=["modbus_devices"], named=["modbus_devices"])
    assert not plan.unreachable
    saved = [step.request for step in plan.steps if step.request.method == "POST"]
    assert [request.body.count("&m") for request in saved] == [30] * 5


def test_command_that_would_set_unread_settings_is_reported_and_not_sent() -> None:
    wanted = with_values(NEW, watchdog__0__host="router.example")
    plan = plan_between(NEW, defaults(NEW), wanted, unread=["watchdog"], named=["watchdog.0.host"])
    (left,) = plan.unreachable
    assert (plan.steps, left.path) == ((), "watchdog.0.host")
    assert "could not be read; add that setting to the file" in left.reason


def test_server_is_not_changed_where_its_unread_password_would_be_forgotten() -> None:
    now = with_values(NEW, email__host="mail.example")
    wanted = with_value(now, "email.host", "other.example")
    plan = plan_between(NEW, now, wanted, unread=["email.password"])
    (left,) = plan.unreachable
    assert (plan.steps, left.path) == ((), "email.host")
    assert "email.password" in left.reason
    given = with_value(wanted, "email.password", "new secret")
    both = plan_between(NEW, now, given, unread=["email.password"], named=["email.password"])
    assert not both.unreachable
    assert both.settings == given


def test_address_and_its_login_come_together() -> None:
    now = with_values(NEW, http__0__url="a.example", http__0__password="old")
    wanted = with_value(now, "http.0.url", "b.example")
    (step,) = plan_between(NEW, now, wanted, rows=TABLE).steps
    assert step.request.target == "/stm.cgi?http1=b.example&httpauth1=*old"


def test_gain_that_the_sensor_does_not_use_is_reached_on_the_way_to_it() -> None:
    wanted = with_values(NEW, analog_inputs__0__sensor="PT1000", analog_inputs__0__gain=50)
    (step,) = plan_between(NEW, defaults(NEW), wanted).steps
    assert step.request.target == "/inpa.cgi?sensor=01&igain=03&sensor=013"


def test_request_that_the_version_refuses_is_not_taken() -> None:
    wanted = with_values(OLD, ui__names_only=True)
    plan = plan_between(OLD, defaults(OLD), wanted)
    assert [one.reason for one in plan.unreachable] == [f"No command of {OLD} sets this value."]


def test_planned_request_does_what_its_step_says() -> None:
    effect = try_request(PlannedRequest("GET", "/stm.cgi?oname=2Pump"), defaults(NEW), NEW)
    assert effect.leaves == [("outputs.2.name", "", "Pump")]
    assert not is_secret(effect.given[0])


UNSAYABLE = {
    "outputs.0.name": 5,
    "analog_inputs.0.gain": [],
    "analog_inputs.1.sensor": "crystal ball",
    "http.0.username": 5,
    "http.1.url": 5,
    "oled.display_time": "for ever",
    "oled.screens.0.lines": (5, "", "", ""),
    "modbus_devices.0.readings.0.type": "float128",
    "modbus_devices.1.readings.0.name": 5,
    "modbus_slots.1.module": "teapot",
}


def test_values_that_no_command_can_express_are_listed_and_not_sent() -> None:
    wanted = defaults(NEW)
    for path, value in UNSAYABLE.items():
        wanted = with_value(wanted, path, value)
    plan = plan_between(NEW, defaults(NEW), wanted, rows=TABLE)
    assert plan.steps == ()
    assert {one.path for one in plan.unreachable} == UNSAYABLE.keys()
