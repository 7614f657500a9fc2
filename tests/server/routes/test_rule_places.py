"""Rules behind empty places: whatever shows, tries, keeps or moves rules goes by their numbers."""

from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.host.controller.snapshot import go_back, take_snapshot
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin, Twin

#: Entry 3: OUT2 on while INPD1 is 0 (`< 1`). Entry 5: OUT3 on while rule 4 (entry 3) is met and DS1
#: is at least 20 °C. A client may send 5 first.
SECOND = "event=5*10*0*2000*0*0*3*0*0*0*0*0*1*0*24*0"
FIRST = "event=3*100*1*1*0*0*2*0*0*0*0*0*1*0*0*0"
ENABLED = "eventon=3*1&eventon=5*1&rulename=5*Fan"


@pytest.fixture
async def twin() -> LoopTwin:
    return await start(MemoryStore())


async def start(store: MemoryStore) -> LoopTwin:
    twin = await LoopTwin.start(store=store)
    await twin.ok("/sim.cgi?DS1=25&INPD1=1")
    await twin.ok("/outs.cgi?roafs=21&roafs=31")
    await twin.ok(f"/inpa.cgi?{SECOND}&{FIRST}&{ENABLED}")
    return twin


async def outputs(twin: LoopTwin) -> tuple[Any, Any]:
    state = await twin.state()
    return state["OUT2"], state["OUT3"]


async def post(twin: LoopTwin, path: str, body: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode((await twin.ok(path, "POST", body.encode())).body)
    return found


async def test_rules_act_by_their_numbers(twin: LoopTwin) -> None:
    assert await outputs(twin) == (0, 0)
    await twin.ok("/sim.cgi?INPD1=0")
    assert await outputs(twin) == (1, 1)
    (first, second) = await twin.json("/api/rules")
    assert (first["number"], second["number"]) == (4, 6)
    assert second["depends"] == {"rule": 4, "must_be_met": True, "agrees": True}
    assert (first["command"], second["command"]) == (FIRST, SECOND)
    (condition,) = first["explanation"]["conditions"]
    assert (condition["compare"], condition["reference"]) == ("=", 0)
    causes = [(one["cause"], one["detail"]) for one in await twin.json("/api/log")]
    assert {("rule", "4"), ("rule", "Fan")} <= set(causes)


async def test_files_metrics_and_timeline_show_rules_at_their_numbers(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?INPD1=0")
    await twin.ok("/sim.cgi?advance=60")
    conditions = (await twin.ok("/xml/eve.xml")).body.decode()
    assert "<eve2>00</eve2>\n<eve3>10</eve3>\n<eve4>00</eve4>\n<eve5>10</eve5>" in conditions
    metrics = (await twin.ok("/metrics")).body.decode()
    assert 'leverframe_rule_met{rule="4",name=""} 1' in metrics
    assert 'leverframe_rule_enabled{rule="6",name="Fan"} 1' in metrics
    timeline = await twin.json("/api/timeline")
    assert [rule["number"] for rule in timeline["rules"]] == [4, 6]
    bars = {lane["label"]: lane["bars"] for lane in timeline["lanes"]}
    assert [bars[label][-1]["value"] for label in ("rule.4", "rule.6")] == [1, 1]


async def test_rule_on_trial_has_its_place(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?INPD1=0&advance=60")
    trial = await post(twin, "/api/rules/try?for=1h", FIRST.replace("event=3", "event=9"))
    assert [one["active"] for one in trial["firings"]] == [True]
    trial = await post(twin, "/api/rules/try?for=1h", SECOND)
    assert [one["active"] for one in trial["firings"]] == [True], "rule 4 is met in the same past"
    found = await post(twin, "/api/what-if?for=1h", "/inpa.cgi?eventon=3*0")
    assert [(one["only"], one["text"]) for one in found["differing"]] == [("with", "OUT3 off")]
    found = await post(twin, "/api/what-if?for=1h", "/inpa.cgi?event=3*100*0*1*0*0*2*0*0*0*0")
    assert ("with", "OUT2 off") in [(one["only"], one["text"]) for one in found["differing"]]
    assert [rule and rule["name"] for rule in (await twin.settings())["rules"]] == [
        *(None,) * 3,
        *("", None, "Fan"),
    ]


async def test_rules_keep_their_places_over_a_start_a_restore_and_a_snapshot() -> None:
    store = MemoryStore()
    twin = await start(store)
    await twin.ok("/sim.cgi?INPD1=0")
    settings = twin.controller.engine.settings
    snapshot = await take_snapshot(twin.controller)
    backup = (await twin.ok("/dev_settings.bin")).body
    await twin.ok("/inpa.cgi?eventdel=3")
    assert [rule and rule.depends for rule in twin.controller.engine.settings.rules] == [
        *(None,) * 4,
        0,
    ]
    await twin.ok("/post.cgi?settingsupload", "POST", backup)
    assert twin.controller.engine.settings.rules == settings.rules
    await twin.ok("/inpa.cgi?rulemove=5*0")
    moved = twin.controller.engine.settings.rules
    assert [rule and (rule.action, rule.depends) for rule in moved] == [
        ("OUT3", 25),
        *(None,) * 3,
        ("OUT2", 0),
    ]
    await go_back(twin.controller, snapshot)
    assert twin.controller.engine.settings.rules == settings.rules
    assert await outputs(twin) == (1, 1)
    await twin.controller.stop()
    again = await LoopTwin.start(store=store)
    assert again.controller.engine.settings.rules == settings.rules
    # Remembered outputs come back on. What rules did to them is remembered by place: those that are
    # no longer met (INPD1 is open, which is 1) end, and switch off.
    assert await outputs(again) == (0, 0)


async def test_another_version_keeps_the_places() -> None:
    twin = await LoopTwin.start(Profile("3.0", "1.58a"))
    await twin.ok("/inpa.cgi?event=4*50*1*1*0*0*5*0*0*0*0")
    await twin.ok("/inpa.cgi?eventon=4*1")
    backup = (await twin.ok("/dev_settings.bin")).body
    newer = await LoopTwin.start()
    await newer.ok("/post.cgi?settingsupload", "POST", backup)
    assert newer.controller.engine.settings.rules == twin.controller.engine.settings.rules
    assert [rule is None for rule in newer.controller.engine.settings.rules] == [True] * 4 + [False]


async def test_rule_that_is_held_or_waits_is_found_by_its_number(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?INPD1=0&DS1=none")
    await twin.ok("/outs.cgi?out2=0")
    pages = {(one["kind"], one["page"]) for one in (await twin.state())["findings"]}
    assert ("rule_held", "rules?edit=4") in pages


def test_rule_in_words_takes_the_first_free_place() -> None:
    with Twin() as twin:
        twin.command("inpa.cgi?event=1*10*0*2000*0*0*3*0*0*0*0")
        assert twin.rule(when="INPD1 = 0", then="OUT0") == 1
        assert twin.rule(when="INPD1 = 1", then="OUT1") == 3
        assert [rule["action"] for rule in twin.settings["rules"]] == ["OUT0", "OUT3", "OUT1"]
        assert "INPD1 = 0" in twin.explain("OUT0")
