"""Findings: each comes with its cause, is shown with the page to fix it, and ends with it."""

import asyncio
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from leverframe.core.engine import actuator
from leverframe.core.engine.findings import Finding
from leverframe.core.engine.journal import Cause
from leverframe.core.labels import LABELS
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.core.settings import Rule, Settings
from leverframe.devices.module_slot import ModuleSlot
from leverframe.devices.wire.modbus_modules import MODULES
from leverframe.host.assembly import build
from leverframe.host.controller.findings import (
    DEPENDED_ON,
    LOOK_EVERY_S,
    LOOK_SOON_S,
    SENTENCES,
    of_settings_alone,
)
from leverframe.interface.table.rules import event_query
from leverframe.server.http.certificate import own_certificate
from leverframe.server.routes.state_document import StateDocuments
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from leverframe.testing.in_process import NEWEST
from tests.cases import for_each
from tests.core.engine.rule_bench import rule
from tests.devices.virtual_loop import run_virtually
from tests.patience import PATIENCE_S
from tests.server.routes.test_stream import content, open_stream
from tests.server.signing_up import base64

OTHER_WATCHDOGS = "&".join(f"wdog{number}=0*0*0**3*2*60*120*10*0*60" for number in range(2, 7))
SENSOR = "28:FF:00:00:00:00:00:01"
#: m1 is the first reading of slot 2, the others are of none.
MAPPED = "*".join(["20", *["00"] * 29])
#: On at 6:00 and off shortly before midnight, every day.
LAMP = "&s0=Lamp*0*1*21600*0*127*1&s1=Dark*0*0*86340*0*127*1&&"
#: A controller without a clock of its own starts, and learns at 8:00 what time it is.
MISSED = [
    f"POST /post.cgi?sched_save {LAMP}",
    *("/stm.cgi?t_man=1000", "/stm.cgi?devrestart=1", "/stm.cgi?t_man=1767600000"),
]
DAILY = "&s0=Fan*0*1*21600*0*128*1&&"


def set_rule(number: int, wanted: Rule) -> str:
    return f"/inpa.cgi?{event_query(number - 1, wanted, NEWEST)}&eventon={number - 1}*1"


def sends(action: str) -> str:
    return set_rule(1, rule(source="INPD1", reference=0.0, action=action))


def mail_texts(texts: str) -> str:
    """Set up mail with the texts for four beginnings and four ends."""
    fields = ("mail.example", "25", "", "", "keeper@example.org", "", "", texts, "0")
    return "/stm.cgi?" + "&".join(f"em{number}={one}" for number, one in enumerate(fields, 1))


def watchdog(failures: int, limit: int) -> list[str]:
    """Watch a host that is silent, every second after the first."""
    entry = f"wdog1=1*0*3*router*{failures}*1*1*1*1*{limit}*0"
    return ["/sim.cgi?ping=router:none", f"/stm.cgi?{entry}&{OTHER_WATCHDOGS}"]


NO_WATCHDOG = f"/stm.cgi?wdog1=0*0*3*router*3*1*1*1*1*0*0&{OTHER_WATCHDOGS}"
WATCHED = "things?thing=WDOG1"
MESSAGES = "messages?open="
MAIL_SERVER = ["/stm.cgi?em1=mail.example", "/stm.cgi?em5=keeper@example.org"]
PHONE = "/stm.cgi?gsmnumber1=%2B48601"
LIT = rule(source="INPD1", reference=1.0, action="OUT0")
DARK = rule(source="INPD2", reference=1.0, action="OUT0", value=0)


class Case(NamedTuple):
    id: str
    page: str
    made: list[str]
    repaired: list[str]


CASES = [
    Case(
        "sensor_lost.DS1",
        "things?thing=DS1",
        [f"/stm.cgi?dswrite=1:{SENSOR}", "/sim.cgi?DS1=20", "/sim.cgi?DS1=none&advance=60"],
        ["/sim.cgi?DS1=20&advance=10"],
    ),
    Case(
        "sensor_silent.DS1",
        "things?thing=DS1",
        [f"/stm.cgi?dswrite=1:{SENSOR}"],
        ["/sim.cgi?DS1=20&advance=10"],
    ),
    Case(
        "sensor_powered_up.DS1",
        "things?thing=DS1",
        [f"/stm.cgi?dswrite=1:{SENSOR}", "/sim.cgi?DS1=20", "/sim.cgi?DS1=85"],
        ["/sim.cgi?DS1=21"],
    ),
    Case(
        "slot_unmapped.2",
        "things?thing=SLOT2",
        ["/stm.cgi?modbus_sensor=11&modbusid=112"],
        [f"/stm.cgi?modbusmapping={MAPPED}"],
    ),
    Case(
        "slot_silent.2",
        "things?thing=SLOT2",
        [f"/stm.cgi?modbus_sensor=11&modbusid=112&modbusmapping={MAPPED}"],
        ["/sim.cgi?m1=230"],
    ),
    Case(
        "rule_waits.1.DS2",
        "rules?edit=1",
        [set_rule(1, rule(source="DS2"))],
        ["/inpa.cgi?eventon=0*0"],
    ),
    Case(
        "rule_never_acts.1",
        "rules?edit=1",
        [set_rule(1, rule(source="DS1", reference=500.0))],
        ["/inpa.cgi?eventon=0*0"],
    ),
    Case(
        "rule_held.1.OUT0",
        "rules?edit=1",
        ["/sim.cgi?INPD1=1&advance=1", set_rule(1, LIT), "/outs.cgi?out0=0"],
        ["/outs.cgi?out0=1"],
    ),
    Case(
        "rule_overruled.1.OUT0",
        "rules?edit=1",
        [
            "/outs.cgi?ortime=05",
            "/sim.cgi?INPD1=1&advance=1",
            set_rule(1, LIT),
            "/sim.cgi?advance=9",
        ],
        ["/outs.cgi?out0=1"],
    ),
    Case(
        "schedule_overruled.Lamp.OUT0",
        "schedule?edit=0",
        [f"POST /post.cgi?sched_save {LAMP}", "/sim.cgi?advance=36000", "/outs.cgi?out0=0"],
        ["/outs.cgi?out0=1"],
    ),
    Case(
        "schedule_missed.Lamp.OUT0",
        "schedule?edit=0",
        MISSED,
        ["/outs.cgi?out0=1"],
    ),
    Case(
        "schedule_caught_up.Lamp.OUT0",
        "schedule?edit=0",
        ["/inpa.cgi?schedcatch=1", *MISSED],
        ["/inpa.cgi?scheddel=0"],
    ),
    Case(
        "rules_fight.1.2.OUT0",
        "rules?edit=1",
        [set_rule(1, LIT), set_rule(2, DARK)],
        ["/inpa.cgi?eventon=1*0"],
    ),
    Case(
        "rules_endless",
        "rules",
        [set_rule(1, rule(source="OUT0", reference=0.0, action="OUT0"))],
        ["/inpa.cgi?eventon=0*0"],
    ),
    Case(
        "pid_output_off.PWM1",
        "pid",
        ["/stm.cgi?pidvalue=1*0*300*200*0*0*1"],
        ["/outs.cgi?pwm1=1"],
    ),
    Case(
        "pid_input_missing.DS1",
        "pid",
        ["/stm.cgi?pidvalue=1*10*300*200*0*0*1", "/outs.cgi?pwm1=1"],
        ["/sim.cgi?DS1=20&advance=2"],
    ),
    Case("watchdog_fails.1", WATCHED, [*watchdog(30, 0), "/sim.cgi?advance=4"], [NO_WATCHDOG]),
    Case(
        "watchdog_restarts.1.OUT3",
        WATCHED,
        [f"/stm.cgi?wdog1=1*0*3*router*1*1*1*1*60*0*0&{OTHER_WATCHDOGS}", "/sim.cgi?advance=20"],
        ["/sim.cgi?ping=router:3&advance=120"],
    ),
    Case("watchdog_gave_up.1", WATCHED, [*watchdog(1, 1), "/sim.cgi?advance=60"], [NO_WATCHDOG]),
    Case(
        "clock_not_set",
        "system?open=interface",
        [f"POST /post.cgi?sched_save {DAILY}", "/stm.cgi?t_man=1000"],
        ["/stm.cgi?t_man=1767571200"],
    ),
    Case(
        "email_not_set_up",
        f"{MESSAGES}email",
        [sends("eMail 1"), sends("eMail 2")],
        MAIL_SERVER,
    ),
    Case(
        "http_not_set_up.2", f"{MESSAGES}http", [sends("HTTP2")], ["/stm.cgi?http2=hook.example/a"]
    ),
    Case("sms_not_set_up.1", f"{MESSAGES}gsm", [sends("SMS1")], ["/inpa.cgi?eventon=0*0"]),
    Case(
        "snmp_not_set_up",
        f"{MESSAGES}snmp",
        [sends("SNMP trap")],
        ["/stm.cgi?snmptrap=1*a.example*162*x"],
    ),
    Case(
        "mqtt_not_set_up",
        f"{MESSAGES}mqtt",
        [sends("MQTT")],
        ["/stm.cgi?mqtt=1*127.0.0.1*9***cellar*0"],
    ),
    Case(
        "email_without_text.2",
        f"{MESSAGES}email",
        [sends("eMail 2"), *MAIL_SERVER],
        [mail_texts("*open******")],
    ),
    Case(
        "sms_without_text.1",
        f"{MESSAGES}gsm",
        [sends("SMS1"), PHONE],
        ["/stm.cgi?gsmsms1=*closed"],
    ),
]


async def does(twin: LoopTwin, steps: list[str]) -> None:
    for step in steps:
        method, mark, rest = step.partition(" ")
        target, _, body = rest.partition(" ")
        await (twin.ok(target, method, body.encode()) if mark else twin.ok(step))
    # The round of the event loop in which something happened ends after its answer.
    await asyncio.sleep(0)


async def findings_by_id(twin: LoopTwin) -> dict[str, dict[str, Any]]:
    return {finding["id"]: finding for finding in await twin.json("/api/findings")}


async def log_lines(twin: LoopTwin) -> list[str]:
    log = await twin.json("/api/log")
    return [entry["text"] for entry in log if entry["cause"] == "finding"]


async def journal_of(twin: LoopTwin, finding: str) -> list[str]:
    """Return what the journal says of a finding."""
    log = await twin.json("/api/log")
    return [entry["what"] for entry in log if entry["detail"] == finding]


@for_each("case", CASES, ids=lambda case: case.id)
async def test_state_in_segments_shows_a_finding_as_one_from_scratch(case: Case) -> None:
    async with await LoopTwin.start() as twin:
        documents = StateDocuments(twin.controller)
        for step in (*case.made, *case.repaired):
            await does(twin, [step])
            from_scratch = StateDocuments(twin.controller).build(for_admin=True)
            assert documents.build(for_admin=True) == from_scratch


@for_each("case", CASES, ids=lambda case: case.id)
async def test_finding_comes_with_its_cause_and_goes_with_its_repair(case: Case) -> None:
    async with await LoopTwin.start() as twin:
        assert await findings_by_id(twin) == {}
        await does(twin, case.made)
        finding = (await findings_by_id(twin))[case.id]
        assert finding["page"] == case.page
        await does(twin, case.repaired)
        assert case.id not in await findings_by_id(twin)


def test_every_kind_of_the_engine_is_shown() -> None:
    of_parts = {"trouble", "password_weak", "certificate_ends", "certificate_ended"}
    assert {case.id.partition(".")[0] for case in CASES} == SENTENCES.keys() - of_parts


async def test_findings_are_shown_everywhere() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok(sends("eMail 1"))
        twin.controller.troubles["MQTT broker"] = "It refuses."
        findings = (await twin.state())["findings"]
        # Faults come first.
        assert [one["id"] for one in findings] == ["trouble.MQTT broker", "email_not_set_up"]
        assert findings == await twin.json("/api/findings")
        assert findings[0]["page"] == "messages?open=mqtt"
        assert findings[0]["text"] == "MQTT broker: It refuses."
        assert (await twin.json("/health"))["findings"] == 2
        metrics = (await twin.ok("/metrics")).body.decode()
        assert 'leverframe_findings{severity="fault"} 1' in metrics
        assert 'leverframe_findings{severity="attention"} 1' in metrics
        log = await log_lines(twin)
        assert set(log) == {one["text"] for one in findings}


async def test_trouble_is_pushed_immediately_and_so_is_its_end() -> None:
    async with await LoopTwin.start() as twin, asyncio.timeout(PATIENCE_S):
        stream = await open_stream(twin)
        await anext(stream)
        twin.controller.troubles["MQTT broker"] = "It refuses."
        findings = content(await anext(stream), "change")["findings"]
        assert [one["id"] for one in findings] == ["trouble.MQTT broker"]
        del twin.controller.troubles["MQTT broker"]
        assert content(await anext(stream), "change")["findings"] == []


async def test_replaced_certificate_is_pushed_and_journalled_immediately(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    async with await LoopTwin.start() as twin, asyncio.timeout(PATIENCE_S):
        controller = twin.controller
        certificate = own_certificate(tmp_path / "old", "leverframe-1", [])
        certificate.ends = controller.clock.wall() + 86_400
        controller.findings.sources.append(lambda: certificate.findings(controller.clock.wall()))
        certificate.watchers.append(controller.tell_findings)
        stream = await open_stream(twin)
        first = content(await anext(stream), "state")["findings"]
        assert [one["id"] for one in first] == ["certificate_ends"]
        # It is the same file, which ends in ten years.
        certificate.reload()
        assert content(await anext(stream), "change")["findings"] == []


PAGES_OF_PARTS = {
    "MQTT broker": f"{MESSAGES}mqtt",
    "MQTT access": f"{MESSAGES}mqtt",
    "http1": f"{MESSAGES}http",
    "HTTPS redirect": "log",
    "httpd": "log",
    "GSM modem": f"{MESSAGES}gsm",
    "sms": f"{MESSAGES}gsm",
    "serial module": "things?thing=all-sensors",
    "1-Wire sensor 28:FF": "things?thing=all-sensors",
    "I2C bus 1": "things?thing=all-sensors",
    "BME280": "things?thing=all-sensors",
    "Modbus slot 3": "things?thing=SLOT3",
    "Modbus slot 2 coil 5": "things?thing=SLOT2",
    "Modbus TCP server": "system?open=modbus_server",
    "mqtt": f"{MESSAGES}mqtt",
    "recovery": "system?open=storage",
    "store": "system?open=storage",
    "mDNS": "log",
}


async def test_module_is_silent_until_it_answers_or_its_bus_reports_why() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok("/stm.cgi?modbus_sensor=11&modbusid=112")
        assert list(await findings_by_id(twin)) == ["slot_unmapped.2"]
        await twin.ok(f"/stm.cgi?modbusmapping={MAPPED}")
        assert list(await findings_by_id(twin)) == ["slot_silent.2"]
        part = ModuleSlot(2, "SDM120", 1, MODULES["SDM120"], ()).trouble
        twin.controller.troubles[part] = "It does not answer."
        assert list(await findings_by_id(twin)) == ["trouble.Modbus slot 2"]
        del twin.controller.troubles[part]
        await twin.ok("/sim.cgi?m1=230")
        assert await findings_by_id(twin) == {}


async def test_part_in_trouble_leads_to_the_page_that_sets_it_up() -> None:
    async with await LoopTwin.start() as twin:
        for part in PAGES_OF_PARTS:
            twin.controller.troubles[part] = "It refuses."
        findings = await findings_by_id(twin)
        assert {
            part: findings[f"trouble.{part}"]["page"] for part in PAGES_OF_PARTS
        } == PAGES_OF_PARTS


async def test_trouble_begins_with_what_people_call_its_part() -> None:
    called = {
        "email": "E-mail",
        "http1": "HTTP request 1",
        "snmp": "SNMP traps",
        "snmp2": "SNMP traps 2",
        "Modbus slot 2 coil 5": "Modbus slot 2, coil 5",
        "1-Wire sensor 28:FF": "1-Wire sensor 28:FF",
        "store": "Storage",
        "/dev/gpiochip0": "/dev/gpiochip0",
        "OUT0": "Pump",
    }
    async with await LoopTwin.start() as twin:
        await twin.ok("/stm.cgi?oname=0Pump")
        for part in called:
            twin.controller.troubles[part] = "It refuses."
        findings = await findings_by_id(twin)
        texts = {part: findings[f"trouble.{part}"]["text"] for part in called}
        assert texts == {part: f"{name}: It refuses." for part, name in called.items()}
        # The pages name a thing by its label, in their language.
        assert findings["trouble.OUT0"]["figures"]["part"] == "OUT0"


@for_each("mode", [0, 1, 2])
@for_each("texts", ["*", "on*", "*off", "on*off"])
@for_each("action", ["SMS1", "eMail 1"])
async def test_nothing_is_sent_of_what_is_found_to_have_no_text(
    action: str, texts: str, mode: int
) -> None:
    on, off = texts.split("*")
    said = mail_texts(f"{on}****{off}***")
    wanted = rule(source="INPD1", reference=1.0, action=action, mode=mode)
    async with await LoopTwin.start() as twin:
        await does(twin, [said, PHONE, f"/stm.cgi?gsmsms1={texts}", set_rule(1, wanted)])
        findings = set(await findings_by_id(twin))
        await does(twin, ["/sim.cgi?INPD1=1&advance=2", "/sim.cgi?INPD1=0&advance=2"])
        outbox = await twin.json("/api/outbox")
        channel = "sms" if action == "SMS1" else "email"
        assert findings == (set() if outbox["captured"] else {f"{channel}_without_text.1"})


async def test_mail_of_the_watchdog_needs_the_text_for_its_beginning() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok(mail_texts("****over***"))
        entry = "wdog1=1*1*3*router*3*1*1*1*1*0*0"
        await does(twin, ["/sim.cgi?ping=router:3", f"/stm.cgi?{entry}&{OTHER_WATCHDOGS}"])
        assert list(await findings_by_id(twin)) == ["email_without_text.1"]
        await twin.ok(mail_texts("gone*******"))
        assert await findings_by_id(twin) == {}


async def test_clock_that_is_set_is_pushed_immediately() -> None:
    async with await LoopTwin.start() as twin, asyncio.timeout(PATIENCE_S):
        (case,) = (one for one in CASES if one.id == "clock_not_set")
        await does(twin, case.made)
        stream = await open_stream(twin)
        await anext(stream)
        await does(twin, case.repaired)
        assert content(await anext(stream), "change")["findings"] == []


#: Findings that come or go with a value or a clock alone, for which a look is worth no hurry.
SEEN_SOON = ("sensor_silent", "slot_silent", "pid_", "watchdog_", "clock_")


@for_each("case", CASES, ids=lambda case: case.id)
async def test_journal_records_begin_and_end_of_a_finding_immediately(
    case: Case,
) -> None:
    async with await LoopTwin.start() as twin:
        by_state = case.id.startswith(SEEN_SOON)
        pause = [f"/sim.cgi?advance={LOOK_SOON_S}"] if by_state else []
        await does(twin, [*case.made, *pause])
        assert (await journal_of(twin, case.id))[-1:] == ["finding"]
        await does(twin, [*case.repaired, *pause])
        assert (await journal_of(twin, case.id))[-2:] == ["finding", "finding_over"]


def test_quiet_controller_looks_now_and_then() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        built = await build(Profile(), MemoryStore(), SystemClock(loop.time, loop.time), UTC)
        controller = built.controller
        await asyncio.sleep(1.0)
        found: list[Finding] = []
        controller.findings.sources.append(lambda: found)
        called_at: list[float] = []
        controller.watchers.add(lambda: called_at.append(loop.time()))
        found.append(Finding("clock_not_set", "schedule"))
        await asyncio.sleep(LOOK_EVERY_S)
        (entry,) = controller.engine.machine.journal.since(0)[-1:]
        assert entry.cause == Cause("finding", "clock_not_set")
        # Watchers were notified in the moment of the entry, and not before.
        assert called_at == [entry.wall]
        await built.stop()

    run_virtually(scenario())


async def test_since_stays_while_the_finding_stays() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok(sends("HTTP1"))
        began = (await findings_by_id(twin))["http_not_set_up.1"]["since"]
        await does(twin, ["/sim.cgi?advance=600", "/stm.cgi?oname=0Pump"])
        assert (await findings_by_id(twin))["http_not_set_up.1"]["since"] == began


async def test_finding_about_an_output_names_what_has_overruled_its_rule() -> None:
    async with await LoopTwin.start() as twin:
        await does(twin, ["/outs.cgi?ortime=05", "/sim.cgi?INPD1=1&advance=1", set_rule(1, LIT)])
        await twin.ok("/sim.cgi?advance=10")
        assert await twin.outputs() == "000000"
        (finding,) = (await findings_by_id(twin)).values()
        assert finding["text"] == "OUT0 is off although rule 1 is met. Cause: return time."


async def test_names_that_people_gave_stand_in_the_sentence() -> None:
    async with await LoopTwin.start() as twin:
        await does(twin, ["/stm.cgi?oname=0Pump", "/sim.cgi?INPD1=1&advance=1"])
        await does(twin, [set_rule(1, LIT), "/inpa.cgi?rulename=0*Watering", "/outs.cgi?out0=0"])
        finding = (await findings_by_id(twin))["rule_held.1.OUT0"]
        assert finding["text"] == "Pump is off by hand although rule Watering is met."
        assert finding["figures"] == {"rule": "Watering", "state": "off"}


async def test_names_that_people_gave_stand_in_a_list_of_things() -> None:
    async with await LoopTwin.start() as twin:
        endless = set_rule(1, rule(source="OUT0", reference=0.0, action="OUT0"))
        await does(twin, ["/stm.cgi?oname=0Pump", endless])
        finding = (await findings_by_id(twin))["rules_endless"]
        assert finding["figures"] == {"labels": "Pump"}
        assert finding["text"].endswith("at most once a second: Pump.")


async def test_sensor_removed_from_the_settings_is_no_finding() -> None:
    async with await LoopTwin.start() as twin:
        await does(twin, CASES[0].made)
        await twin.ok("/stm.cgi?dswrite=1:00:00:00:00:00:00:00:00")
        assert await findings_by_id(twin) == {}


async def test_readings_computed_from_a_lost_reading_are_no_findings() -> None:
    async with await LoopTwin.start() as twin:
        await does(twin, ["/inpa.cgi?sensor=01", "/sim.cgi?INPA1=1", "/sim.cgi?INPA1=none"])
        state = await twin.state()
        assert {"INPA1", "POWER1", "DIFF1"} <= state["absent_since"].keys()
        assert list(await findings_by_id(twin)) == ["sensor_lost.INPA1"]


@pytest.mark.parametrize(("password", "is_weak"), [("secret", True), ("a garden in May", False)])
async def test_weak_password_is_a_finding_for_the_administrator_alone(
    password: str, is_weak: bool
) -> None:
    async with await LoopTwin.start() as twin:
        fields = "*".join(map(base64, ("admin", password, "user", "another garden")))
        await twin.ok(f"/stm.cgi?auth=11{fields}")
        findings = twin.controller.findings.report()
        assert [one.id for one in findings] == (["password_weak.admin"] if is_weak else [])
        user = f"Basic {base64('user:another garden')}"
        state = await twin.ask("/api/state", Authorization=user, authorization=user)
        assert b"password_weak" not in state.body
        assert state.status == 200


class _ReadSettings:
    """Settings that note which of them are asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._settings, name)


def read_by(look: Callable[[Any], Any], *rules: Rule) -> set[str]:
    noted = _ReadSettings(msgspec.structs.replace(Settings(), rules=rules))
    # What is found is found while one looks.
    list(look(noted))
    return noted.read


def test_findings_of_settings_depend_only_on_watched_settings() -> None:
    # Each source, in two rules that want the same output different; and each kind of message.
    fighting = [[rule(source=one, value=value) for value in (0, 1)] for one in LABELS]
    sending = [[rule(action=one)] for one in actuator.MESSAGES]
    read = {name for rules in fighting + sending for name in read_by(of_settings_alone, *rules)}
    assert read == read_by(DEPENDED_ON)
