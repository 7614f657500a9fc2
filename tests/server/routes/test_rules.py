"""`/api/rules`: what it says about rules is what they do."""

from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.server.http.messages import Reply
from leverframe.testing.in_process import NEWEST, LoopTwin
from tests.cases import for_each
from tests.server.signing_up import ADMINISTRATOR, CONTROL_USER, USER, basic, start_with_accounts

#: When DS1 is at least 21.5 °C (hysteresis 0.5), after 3 s OUT2 on; when no longer, after 5 s off.
HEATING = "event=0*10*0*2150*50*0*2*0*0*0*0*5*1*3*0*0"


async def twin_with(*commands: str, profile: Profile = NEWEST) -> LoopTwin:
    twin = await LoopTwin.start(profile)
    for command in commands:
        await twin.ok(f"/inpa.cgi?{command}")
    return twin


async def rules(twin: LoopTwin) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = await twin.json("/api/rules")
    return listed


async def test_rule_is_shown_with_value_units_and_action() -> None:
    twin = await twin_with(HEATING, "eventon=0*1")
    await twin.ok("/sim.cgi?DS1=20.1")
    (report,) = await rules(twin)
    (condition,) = report["explanation"]["conditions"]
    assert (condition["label"], condition["value"], condition["result"]) == ("DS1", 20.1, False)
    assert (condition["reference"], condition["hysteresis"]) == (21.5, 0.5)
    assert report["units"] == {"DS1": "°C"}
    assert report["when_met"]["text"] == "OUT2 on after 3 s"
    assert report["when_ceasing"]["text"] == "OUT2 off after 5 s"
    assert report["command"] == HEATING
    assert report["why"] == {
        "kind": "not_met",
        "rule": None,
        "label": None,
        "text": "The conditions are not met: DS1 is 20.1 °C (at least 21.5 °C: no).",
    }


async def test_delay_counts_down_and_the_firings_follow() -> None:
    twin = await twin_with(HEATING, "eventon=0*1")
    start = (await twin.state())["time"]
    await twin.ok("/sim.cgi?DS1=22&advance=1")
    (report,) = await rules(twin)
    assert (report["active"], report["why"]["kind"], report["why"]["text"]) == (
        False,
        "waits",
        "The rule acts in 2 s: DS1 is 22 °C (at least 21 °C: yes).",
    )
    assert report["explanation"]["pending"] == 2.0
    await twin.ok("/sim.cgi?advance=2")
    (report,) = await rules(twin)
    assert (report["active"], report["why"]["kind"], report["why"]["text"]) == (
        True,
        "met",
        "The conditions are met: DS1 is 22 °C (at least 21 °C: yes).",
    )
    await twin.ok("/sim.cgi?DS1=20&advance=4")
    (report,) = await rules(twin)
    assert (report["active"], report["explanation"]["pending"]) == (True, 1.0)
    assert (report["why"]["kind"], report["why"]["text"]) == (
        "ceases",
        "The rule stops acting in 1 s: DS1 is 20 °C (at least 21.5 °C: no).",
    )
    await twin.ok("/sim.cgi?advance=1")
    (report,) = await rules(twin)
    assert report["active"] is False
    assert report["firings"] == [
        {"time": start + 3, "active": True},
        {"time": start + 8, "active": False},
    ]


async def test_state_counts_a_delay_from_now() -> None:
    twin = await twin_with(HEATING, "eventon=0*1")
    await twin.ok("/sim.cgi?DS1=22")
    await twin.ok("/sim.cgi?advance=1")
    assert (await twin.state())["rules"][0]["pending"] == 2.0


async def test_firings_of_messages_are_shown_and_survive_an_edit_and_a_move() -> None:
    message = "event=1*10*0*2150*50*0*28*0*0*0*0*0*1*0*0*0"
    twin = await twin_with(HEATING, message, "eventon=1*1")
    await twin.ok("/sim.cgi?DS1=22")
    assert [firing["active"] for firing in (await rules(twin))[1]["firings"]] == [True]
    await twin.ok(f"/inpa.cgi?{message.replace('2150', '2300')}")
    await twin.ok("/inpa.cgi?eventdel=0")
    (report,) = await rules(twin)
    assert [firing["active"] for firing in report["firings"]] == [True, False]


async def test_rule_shows_the_rule_it_depends_on_and_its_state() -> None:
    dependent = "event=0*10*0*2150*0*0*2*0*0*0*0*0*1*0*22*0"
    twin = await twin_with(dependent, "event=1*100*0*0*0*0*3*0*0*0*0*0*1*0*0*0", "eventon=0*1")
    await twin.ok("/sim.cgi?DS1=30")
    report = (await rules(twin))[0]
    assert report["depends"] == {"rule": 2, "must_be_met": True, "agrees": False}
    assert report["why"]["kind"] == "needed_disabled"
    assert [advice["kind"] for advice in report["advice"]] == ["never_disabled_dependence"]
    await twin.ok("/inpa.cgi?eventon=1*1")
    await twin.ok("/sim.cgi?INPD1=0")
    report = (await rules(twin))[0]
    assert report["depends"]["agrees"] is True
    assert (report["active"], report["advice"]) == (True, [])


async def test_advice_follows_the_settings_and_what_is_measured() -> None:
    twin = await twin_with(HEATING)
    assert [one["kind"] for one in (await rules(twin))[0]["advice"]] == ["not_set_up"]
    await twin.ok("/sim.cgi?DS1=20")
    assert (await rules(twin))[0]["advice"] == []
    await twin.ok("/inpa.cgi?event=1*10*1*1000*0*0*2*0*0*0*0*0*1*0*0*0&eventon=0*1&eventon=1*1")
    report = await rules(twin)
    assert [advice["kind"] for rule in report for advice in rule["advice"]] == ["shared", "shared"]


async def test_advice_stands_at_every_rule_it_is_about() -> None:
    opposite = HEATING.replace("event=0", "event=1").replace("*5*1*3", "*5*0*3")
    twin = await twin_with(HEATING, opposite, "eventon=0*1", "eventon=1*1")
    await twin.ok("/sim.cgi?DS1=20")
    assert [rule["advice"][0]["rules"] for rule in await rules(twin)] == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("profile", "command", "action"),
    [
        (Profile("3.5", "1.36"), "event=0*100*0*1*0*0*5*0*0*0*0*7", "OUT2 on"),
        (Profile("3.0", "1.58a"), "event=0*50*0*1*0*0*4*0*0*0*0*7", "OUT2 off"),
        (Profile("3.9", "1.75"), "event=0*100*0*1*0*0*2*0*0*0*0*7*2*0*0*2", None),
    ],
)
async def test_every_dialect_gives_the_command_that_made_the_rule(
    profile: Profile, command: str, action: str | None
) -> None:
    twin = await twin_with(command, profile=profile)
    (report,) = await rules(twin)
    assert report["command"] == command
    assert (report["when_met"] and report["when_met"]["text"]) == action


async def test_rule_that_only_acts_when_it_stops_says_so_while_it_is_met() -> None:
    twin = await twin_with("event=0*100*0*1*0*0*2*0*0*0*0*0*1*0*0*2", "eventon=0*1")
    (report,) = await rules(twin)
    assert report["why"]["kind"] == "only_when_it_stops"
    assert report["when_met"] is None
    assert report["when_ceasing"]["text"] == "OUT2 off"


async def test_periodic_switching_has_no_delays() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/inpa.cgi?event=0*10*0*2000*0*0*18*0*0*0*0*5*1*3*0*0")
    (report,) = await twin.json("/api/rules")
    assert report["when_met"]["text"] == "AutoSwitch OUT0 on"
    assert report["when_ceasing"]["text"] == "AutoSwitch OUT0 off"


async def test_one_time_action_does_nothing_when_its_rule_ends() -> None:
    twin = await twin_with("event=0*100*0*1*0*0*36*0*0*0*0*0*1*0*0*0")
    (report,) = await rules(twin)
    assert report["when_met"]["text"] == "does RESET ENERGY1"
    assert report["when_ceasing"] is None


async def test_one_time_action_runs_at_the_end_of_a_rule_that_acts_only_then() -> None:
    twin = await twin_with("event=0*100*0*1*0*0*36*0*0*0*0*0*1*0*0*2")
    (report,) = await rules(twin)
    assert report["when_met"] is None
    assert report["when_ceasing"]["text"] == "does RESET ENERGY1"


async def try_rule(twin: LoopTwin, command: str, status: int = 200) -> dict[str, Any]:
    reply = await twin.ask("/api/rules/try", "POST", command.encode())
    assert reply.status == status, reply.body
    answer: dict[str, Any] = msgspec.json.decode(reply.body)
    return answer


async def test_trial_shows_the_past_effect_and_changes_nothing() -> None:
    twin = await LoopTwin.start()
    start = (await twin.state())["time"]
    for degrees in (20, 22, 23, 20, 25):
        await twin.ok(f"/sim.cgi?DS1={degrees}")
        await twin.ok("/sim.cgi?advance=600")
    trial = await try_rule(twin, HEATING)
    assert trial["firings"] == [
        {"time": start + 603, "active": True},
        {"time": start + 1805, "active": False},
        {"time": start + 2403, "active": True},
    ]
    assert (trial["since"], trial["last"]) == (start, start + 3000)
    assert (await twin.settings())["rules"] == []


async def test_trial_takes_a_time_window_as_it_would_be() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/sim.cgi?DS1=30")
    await twin.ok("/sim.cgi?advance=172800")
    state = await twin.state()
    # When it is warm and not between 22:00 and 06:00.
    rule = "event=0*10*0*2150*50*1*0*106*0*0*0*0*1*0*0*0"
    window = "schedset=0*Night*12*1*79200*0*127*1&schedset=1*Night*12*0*21600*0*127*1"
    reply = await twin.ask("/api/rules/try?for=24h", "POST", f"{rule}&{window}".encode())
    trial = msgspec.json.decode(reply.body)
    assert reply.status == 200, trial
    assert trial["last"] - trial["first"] == 86400
    (warm,), window_turns = trial["conditions"]
    assert warm["active"]
    hours = [(turn["time"] % 86400 / 3600, turn["active"]) for turn in window_turns]
    assert {(22, False), (6, True)} <= set(hours)
    assert {(turn["time"], turn["active"]) for turn in window_turns} >= {
        (firing["time"], firing["active"]) for firing in trial["firings"]
    }
    assert state["time"] == trial["last"]
    refused = await twin.ask("/api/rules/try", "POST", f"{rule}&eventdel=0".encode())
    assert refused.status == 400


async def test_trial_of_a_stored_rule_is_about_what_it_would_become() -> None:
    twin = await twin_with(HEATING)
    await twin.ok("/sim.cgi?DS1=30")
    assert len((await try_rule(twin, HEATING.replace("*3*0*0", "*0*0*0")))["firings"]) == 1
    assert (await try_rule(twin, HEATING.replace("2150", "3100")))["firings"] == []
    assert (await rules(twin))[0]["command"] == HEATING


async def test_trial_without_a_past_says_so() -> None:
    trial = await try_rule(await LoopTwin.start(), HEATING)
    assert (trial["since"], trial["firings"]) == (None, [])


@for_each(
    ("command", "field"),
    [
        ("event=0*999*0*2150*50*0*2*0*0*0*0*5*1*3*0*0", "B"),
        ("event=0*10", None),
        ("eventdel=0", None),
        ("", None),
        ("nonsense", None),
    ],
)
async def test_invalid_rule_is_refused(command: str, field: str | None) -> None:
    twin = await twin_with(HEATING)
    status = 404 if command == "nonsense" else 400
    assert (await try_rule(twin, command, status)).get("field") == field
    assert len(await rules(twin)) == 1


async def test_trial_is_asked_for_with_post() -> None:
    twin = await LoopTwin.start()
    problem = await twin.refused("/api/rules/try", 405)
    assert problem["allowed"] == "POST"


async def test_rules_are_shown_and_tried_for_the_administrator_only() -> None:
    twin = await start_with_accounts()
    for account, status in ((ADMINISTRATOR, 200), (USER, 403), (CONTROL_USER, 403)):
        who = basic(*account)
        report = await twin.ask("/api/rules", authorization=who)
        tried = await twin.ask("/api/rules/try", "POST", HEATING.encode(), authorization=who)
        assert (report.status, tried.status) == (status, status)
    assert (await twin.ask("/api/rules/try", "POST", HEATING.encode())).status == 401


async def add_rule(twin: LoopTwin, line: str) -> Reply:
    return await twin.ask("/api/rules", "POST", line.encode())


async def test_posted_line_becomes_an_enabled_rule_and_is_listed_alone() -> None:
    twin = await twin_with(HEATING, "event=2*10*0*2150*50*0*2*0*0*0*0")
    await twin.ok("/stm.cgi?oname=3Lamp")
    reply = await add_rule(twin, 'when INPD1 is off then "Lamp" on, permanent')
    assert reply.status == 200
    (added,) = msgspec.json.decode(reply.body)
    assert (added["number"], added["settings"]["action"]) == (2, "OUT3")
    assert added["settings"]["enabled"]
    assert added["settings"]["permanent"]
    await twin.ok("/sim.cgi?INPD1=0")
    assert (await twin.outputs())[3] == "1"
    assert [rule["number"] for rule in await rules(twin)] == [1, 2, 3]


async def test_refused_line_changes_nothing() -> None:
    twin = await twin_with(HEATING)
    before = await twin.settings()
    reply = await add_rule(twin, "when DS1 >= 25 then OUT9 on")
    assert (reply.status, b"OUT9 is not available to rules" in reply.body) == (400, True)
    assert await twin.settings() == before


async def test_line_that_the_version_cannot_express_is_refused() -> None:
    twin = await twin_with(profile=Profile("3.0", "1.38"))
    reply = await add_rule(twin, "when DS1 >= 25 then OUT1 reverse")
    assert reply.status == 404
    assert await rules(twin) == []


async def test_line_is_refused_when_all_rules_are_in_use() -> None:
    twin = await twin_with(*(f"event={place}*10*0*0*0*0*2*0*0*0*0" for place in range(20)))
    assert (await add_rule(twin, "when DS1 >= 25 then OUT1 on")).status == 409


async def test_only_the_administrator_adds_a_rule() -> None:
    twin = await start_with_accounts()
    for account, status in ((CONTROL_USER, 403), (USER, 403), (ADMINISTRATOR, 200)):
        reply = await twin.ask(
            "/api/rules",
            "POST",
            b"when DS1 >= 25 then OUT1 on",
            authorization=basic(*account),
        )
        assert reply.status == status
