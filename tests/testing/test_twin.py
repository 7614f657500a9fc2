"""Twins in the test's process: started, moved through time, looked into."""

import asyncio
import json
import socket
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pytest
from pymodbus.client import ModbusTcpClient

from leverframe.core.durations import BadDuration, BadMoment, Duration
from leverframe.core.profile import Profile, UnknownProfile
from leverframe.host.configuration import BadConfiguration
from leverframe.host.controller.snapshot import NoLiveSnapshot
from leverframe.host.maintenance.backup import write
from leverframe.host.maintenance.configuration import BadSettings
from leverframe.host.ports import CannotListen
from leverframe.interface.exchange import (
    FORMAT,
    Exchange,
    RecordedAnswer,
    RecordedBody,
    RecordingHead,
    line_of,
)
from leverframe.interface.uploads.site import pack_site
from leverframe.server.http.messages import Answer, Reply, Request, StreamReply
from leverframe.server.http.request_journal import KEPT_REQUESTS, OpenRequest, RequestJournal
from leverframe.storage.backup import BackupFile, BackupRefused
from leverframe.testing import BadCall, LoopTwin, Twin, TwinRefused, faults
from leverframe.testing.any_twin import TwinNotReached
from leverframe.testing.observations import UnknownLabel
from leverframe.testing.recordings.unit_client import BadAddress, UnitError
from leverframe.testing.rule_words import BadRule
from leverframe.units.file_keys import BadUnitFile
from leverframe.units.pull import write_pulled
from tests.cases import for_each
from tests.notify.broker import PASSWORD, USER, Broker, Listener
from tests.patience import PATIENCE_S
from tests.ports import free_port


def test_due_events_happen_while_time_is_moved(twin: Twin) -> None:
    twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
    before = twin.now
    twin.advance("9min 59s")
    assert twin.state["OUT0"] == 1
    twin.advance(timedelta(seconds=1))
    assert twin.state["OUT0"] == 0
    assert twin.now - before == timedelta(minutes=10)


@pytest.mark.parametrize(("step", "steps"), [("0.1s", 10), ("10ms", 100), ("999ms", 1), (1 / 3, 3)])
def test_steps_that_add_up_to_a_second_are_a_second(twin: Twin, step: Duration, steps: int) -> None:
    twin.command("outs.cgi?ortime=01", "outs.cgi?out0=1")
    for _ in range(steps):
        twin.advance(step)
    if step == "999ms":
        assert twin.state["OUT0"] == 1
        twin.advance("1ms")
    assert twin.state["OUT0"] == 0


def test_time_is_moved_to_a_moment_of_the_local_clock() -> None:
    with Twin(start="2026-03-29T00:30", timezone="Europe/Warsaw") as twin:
        assert twin.now.isoformat() == "2026-03-29T00:30:00+01:00"
        twin.advance("2h")
        assert twin.now.isoformat() == "2026-03-29T03:30:00+02:00"
        twin.advance_to("2026-03-29T04:00")
        twin.advance_to(datetime(2026, 3, 29, 3, tzinfo=UTC))
        twin.advance_to(twin.now.timestamp() + 60)
        assert twin.now.isoformat() == "2026-03-29T05:01:00+02:00"
        with pytest.raises(BadDuration, match="0 or more"):
            twin.advance_to("2026-03-29T05:00")


def test_client_gets_what_the_twin_answers_at_its_port(twin: Twin) -> None:
    assert "<out>000000</out>" in twin.get("/outs.cgi")
    assert httpx.get(f"{twin.url}/outs.cgi?out1=1", timeout=PATIENCE_S).status_code == 200
    assert twin.state["OUT1"] == 1
    with pytest.raises(TwinRefused, match="404: There is nothing at this path") as refused:
        twin.get("nothing")
    assert (refused.value.status, refused.value.sentence) == (404, "There is nothing at this path.")


async def test_async_forms_leave_the_loop_of_the_test_alone() -> None:
    async with Twin() as twin:
        await twin.acommand("outs.cgi?out0=1")
        assert '"OUT0":1' in await twin.aget("/api/state")
        await twin.asense(DS1=20)
        now = twin.now
        await twin.aadvance(60)
        await twin.aadvance_to(now + timedelta(minutes=2))
        assert (await twin.astate())["DS1"] == 20
        with pytest.raises(TwinNotReached):
            await twin.auntil("DS1 >= 30", "1h")
        async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
            assert (await client.get(f"{twin.url}/outs.cgi")).status_code == 200


def test_all_twins_of_a_process_live_in_one_thread() -> None:
    with Twin() as first, Twin() as second:
        assert [thread.name for thread in threading.enumerate()].count("leverframe twins") == 1
        first.command("outs.cgi?out0=1")
        assert second.state["OUT0"] == 0
        assert first.mac != second.mac


def test_twin_can_be_started_again_from_the_beginning() -> None:
    twin = Twin().start()
    twin.command("outs.cgi?out0=1")
    assert twin.start() is twin
    twin.close()
    twin.close()
    with pytest.raises(RuntimeError, match="The twin is off"):
        _ = twin.state
    with twin:
        assert twin.state["OUT0"] == 0


def test_readings_are_sensed_and_unplugged(twin: Twin) -> None:
    twin.sense({"PM2.5": 12.5}, DS1=21.5, INPD1=True)
    state = twin.state
    assert (state["PM2.5"], state["DS1"], state["INPD1"]) == (12.5, 21.5, 1)
    twin.unplug("DS1", "INPD1")
    assert twin.state["DS1"] is None
    twin.sense()
    twin.sim("onewire=28:FF:64:1D:61:17:03:8D", "DS2=3")
    assert twin.state["DS2"] == 3
    with pytest.raises(
        BadCall, match="label 'DSX' is unknown. Did you mean 'DS8'.* Allowed: .*DS1"
    ):
        twin.sense(DSX=1)


def test_time_passes_until_a_condition_holds(twin: Twin) -> None:
    twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
    begin = twin.now
    twin.until("OUT0 = 0")
    assert twin.now - begin == timedelta(minutes=10)
    twin.until(lambda: twin.now - begin >= timedelta(minutes=11), "1min")
    twin.until("VCC >= 11")
    twin.until("VCC < 13")
    assert twin.now - begin == timedelta(minutes=11)
    with pytest.raises(TwinNotReached, match="'DS1 >= 30' was not met within 1h"):
        twin.until("DS1 >= 30", "1h")
    assert twin.now - begin == timedelta(hours=1, minutes=11)
    with pytest.raises(BadRule, match="Unknown label or name 'DSX'"):
        twin.until("DSX >= 3")


def test_conditions_have_names_and_an_invalid_one_is_refused_with_the_allowed_ones(
    twin: Twin,
) -> None:
    twin.command("stm.cgi?oname=0Pump", "outs.cgi?ortime=0600", "outs.cgi?out0=1&out1=1")
    begin = twin.now
    twin.until("Pump != on and OUT1 == on or DS1 > 3")
    assert twin.now - begin == timedelta(minutes=10)
    for wrong in ("OUT0 is on", "OUT0 => 1", "and"):
        with pytest.raises(BadRule, match=r"is not a condition. Allowed: a label or a name, then"):
            twin.until(wrong)
    assert twin.now - begin == timedelta(minutes=10)


class CountingTwin(Twin):
    """Counts what is done to it past its port."""

    operated = 0

    def _operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        self.operated += 1
        return super()._operate(target, method, body)


def test_wait_is_one_operation_however_much_is_due_on_the_way() -> None:
    with CountingTwin() as twin:
        # Something is due every second.
        twin.command("outs.cgi?atout=0*1&atout=6*1&aout=01")
        before = twin.operated
        with pytest.raises(TwinNotReached):
            twin.until("DS1 >= 30", "66min")
        assert twin.operated - before == 1


def test_label_without_a_number_cannot_be_waited_for(twin: Twin) -> None:
    for label in ("DSX", "rules", "profile"):
        with pytest.raises(BadRule, match=f"Unknown label or name '{label}'"):
            twin.until(f"{label} >= 1")


def test_snapshot_is_gone_back_to_and_a_fork_goes_its_own_way(twin: Twin) -> None:
    twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
    snapshot = twin.snapshot()
    twin.advance("1h")
    assert twin.state["OUT0"] == 0
    twin.restore(snapshot)
    assert twin.state["OUT0"] == 1
    other = twin.fork()
    other.advance("10min")
    assert (other.state["OUT0"], twin.state["OUT0"]) == (0, 1)
    assert (other.mac, other.profile) == (twin.mac, twin.profile)
    assert other.url != twin.url
    assert other.now != twin.now
    other.close()
    assert twin.is_on
    with Twin() as third:
        fork = third.fork()
    assert not fork.is_on


def test_fork_is_closed_with_its_original() -> None:
    with Twin() as twin:
        fork = twin.fork()
        fork_of_fork = fork.fork()
    assert not fork.is_on
    assert not fork_of_fork.is_on


def test_reset_leads_back_to_the_start(twin: Twin) -> None:
    begin = twin.now
    twin.rule(when="DS1 >= 30", then="eMail 1")
    twin.sense(DS1=31)
    httpx.post(
        f"{twin.url}/post.cgi?wwwfileupload",
        content=pack_site({"index.html": b"Own"}),
        timeout=PATIENCE_S,
    )
    assert twin.get("/index.html") == "Own"
    twin.advance("1h")
    assert "DS1" in twin.get("/api/history?labels=DS1")
    twin.reset()
    assert (twin.now, twin.state["DS1"], twin.settings["rules"]) == (begin, None, [])
    assert (twin.outbox.emails, twin.requests()) == ([], [])
    assert "31" not in twin.get("/api/history?labels=DS1")
    with pytest.raises(TwinRefused, match="404"):
        twin.get("/index.html")


# --- identity and settings ------------------------------------------------------------------------


def test_twin_is_the_unit_that_it_is_asked_to_be() -> None:
    with Twin(hw="3.0", sw="1.58a", mac="02-00-00-00-00-01", name="unit7") as twin:
        assert (twin.mac, twin.name) == ("02:00:00:00:00:01", "unit7")
        assert '"hw":"3.0"' in twin.get("/json/status.json")
        assert twin.state["profile"] == {"hw": "3.0", "sw": "1.58a"}


def test_same_seed_makes_the_same_identity() -> None:
    with Twin(seed=7) as first, Twin(seed=7) as same, Twin(seed=8) as other:
        assert first.mac == same.mac != other.mac
        assert repr(first) == "<Twin HW 3.9 SW 1.75 seed 7>"


def test_newest_software_of_a_hardware_is_taken_where_none_is_named() -> None:
    assert str(Twin(hw="3.0").profile) == "HW 3.0 SW 1.58a"
    assert str(Twin(sw="1.49").profile) == "HW 3.9 SW 1.49"


def test_settings_are_given_by_their_paths() -> None:
    given = {"outputs.0.name": "Pump", "rules.0.source": "DS1", "rules.0.enabled": True}
    with Twin(settings=given) as twin:
        settings = twin.settings
        assert settings["outputs"][0]["name"] == "Pump"
        assert settings["rules"][0]["source"] == "DS1"


@pytest.mark.parametrize("ending", ["toml", "json", "bin"])
def test_settings_are_given_by_a_backup_of_a_unit(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"unit7.{ending}"
    write(file, BackupFile("3.5", "1.49", {"outputs.0.name": "Pump"}))
    with Twin(settings=file) as twin:
        assert twin.profile.sw == "1.49"
        assert twin.settings["outputs"][0]["name"] == "Pump"
    with Twin(settings=str(file), hw="3.9") as twin:
        assert twin.settings["outputs"][0]["name"] == "Pump"


UNIT_FILE = """\
hardware = "3.5"
software = "1.49"

[outputs.OUT0]
name = "Pump"
return_time = "5m"

[rules]
1 = "when DS1 >= 30, then OUT0 on"
"""


def test_settings_are_given_by_a_unit_file(tmp_path: Path) -> None:
    path = tmp_path / "unit.toml"
    path.write_text(UNIT_FILE, "utf-8")
    with Twin(settings=path) as twin:
        assert str(twin.profile) == "HW 3.5 SW 1.49"
        assert twin.settings["outputs"][0]["name"] == "Pump"
        twin.sense(DS1=31)
        assert twin.state["OUT0"] == 1
    with Twin(hw="3.9", settings=str(path)) as twin:
        assert (twin.profile.hw, twin.settings["outputs"][0]["return_time"]) == ("3.9", 300)
    path.write_text('[outputs.OUT0]\nnam = "Pump"\n', "utf-8")
    with pytest.raises(BadUnitFile, match="nam"):
        Twin(settings=path)


def test_passwords_of_a_unit_file_are_those_of_the_twin_if_they_are_there(tmp_path: Path) -> None:
    path, secrets = tmp_path / "unit.toml", tmp_path / "secrets.toml"
    path.write_text(
        'secrets = "secrets.toml"\n[access]\nrequired = true\n'
        '[access.admin]\nname = "keeper"\npassword = { secret = "keeper" }\n',
        "utf-8",
    )
    secrets.write_text('keeper = "of the keeper"\n', "utf-8")
    secrets.chmod(0o600)
    with Twin(settings=path) as twin:
        assert twin.get("/outs.cgi", auth=("keeper", "of the keeper"))
        with pytest.raises(TwinRefused, match="401"):
            twin.get("/outs.cgi")
    secrets.write_text('other = "of others"\n', "utf-8")
    with Twin(settings=path) as twin:
        assert twin.get("/outs.cgi")


def test_settings_are_those_of_a_unit_at_a_url_which_is_only_read(tmp_path: Path) -> None:
    with Twin(hw="3.5", accounts={"keeper": "of the keeper"}) as unit:
        unit.command("stm.cgi?oname=0Pump", "stm.cgi?eventname=1Warm")
        address = unit.url.replace("http://", "http://keeper:of%20the%20keeper@")
        with Twin(settings=address) as twin:
            assert (twin.profile.hw, twin.settings["outputs"][0]["name"]) == ("3.5", "Pump")
            assert twin.recorded_unit is not None
            assert "access.admin.password" in twin.recorded_unit.unread
            # Its accounts are not known, so it has none.
            assert twin.get("/outs.cgi")
            pulled = twin.recorded_unit
        assert {(one.method, one.query) for one in unit.requests()} == {("GET", None)}
        with pytest.raises(UnitError, match="login of keeper") as refused:
            Twin(settings=unit.url.replace("http://", "http://keeper:wrong@"))
        assert "wrong" not in str(refused.value)
    with Twin(settings=pulled) as twin:
        assert twin.settings["outputs"][0]["name"] == "Pump"
    for name in ("pulled.toml", "pulled.json"):
        write_pulled(pulled, tmp_path / name)
        with Twin(settings=tmp_path / name) as twin:
            assert (twin.profile.hw, twin.settings["outputs"][0]["name"]) == ("3.5", "Pump")


def test_invalid_initial_state_is_refused_with_the_allowed_kinds() -> None:
    with pytest.raises(BadSettings, match=r"start from 'int'. Allowed: values by path, a backup"):
        Twin(settings=7)  # type: ignore[arg-type]
    with pytest.raises(BadAddress, match="must not contain a path"):
        Twin(settings="http://127.0.0.1:1/index.html")


def test_port_can_be_chosen_and_a_taken_one_is_refused() -> None:
    port = free_port()
    with Twin(port=port) as twin:
        assert twin.url == f"http://127.0.0.1:{port}"
        with twin.fork() as other:
            assert other.url != twin.url
        with pytest.raises(CannotListen, match=f"Port {port} is in use by another program"):
            Twin(port=port).start()
        twin.close()
        assert twin.start().url == f"http://127.0.0.1:{port}"
    with pytest.raises(CannotListen, match="Port 70000 is out of range"):
        Twin(port=70_000)


def test_recorded_unit_answers_what_the_twin_does_not_know(tmp_path: Path) -> None:
    recording = tmp_path / "unit.jsonl"
    began = datetime(2026, 1, 5, tzinfo=UTC)
    answer = RecordedAnswer(200, {"content-type": "text/plain"}, RecordedBody("own"))
    recording.write_bytes(
        line_of(RecordingHead(FORMAT, "http://unit.example", began))
        + line_of(Exchange(began, 0.1, "GET", "/only-there.cgi", None, answer))
    )
    for twin in (Twin(settings=recording), Twin.process(settings=str(recording))):
        with twin:
            assert twin.get("/only-there.cgi") == "own"
            assert [request.status for request in twin.requests()] == [200]


def test_which_recorded_answer_comes_next_is_part_of_snapshots(tmp_path: Path) -> None:
    recording = tmp_path / "unit.jsonl"
    began = datetime(2026, 1, 5, tzinfo=UTC)
    texts = ("first", "second", "third")
    answers = [RecordedAnswer(200, {"content-type": "text/plain"}, RecordedBody(t)) for t in texts]
    recording.write_bytes(
        line_of(RecordingHead(FORMAT, "http://unit.example", began))
        + b"".join(line_of(Exchange(began, 0.1, "GET", "/own", None, one)) for one in answers)
    )
    with Twin(recorded=recording) as twin:
        assert twin.get("/own") == "first"
        one_given, fork = twin.snapshot(), twin.fork()
        assert [twin.get("/own") for _ in range(3)] == ["second", "third", "third"]
        assert fork.get("/own") == "second"
        twin.restore(one_given)
        assert twin.get("/own") == "second"
        twin.reset()
        assert (twin.get("/own"), fork.get("/own")) == ("first", "third")
        with (
            Twin() as other,
            pytest.raises(NoLiveSnapshot, match="uses recorded answers"),
        ):
            other.restore(one_given)
    with Twin.process(recorded=recording) as process:
        assert (process.get("/own"), process.get("/own")) == ("first", "second")
        process.reset()
        assert process.get("/own") == "first"


def record(path: Path, answers: Mapping[str, str]) -> Path:
    """Write a recording in which a client asked for files."""
    began = datetime(2026, 1, 5, tzinfo=UTC)
    kind = {True: "application/json", False: "text/xml"}
    lines = [
        line_of(
            Exchange(
                began,
                0.1,
                "GET",
                target,
                None,
                RecordedAnswer(200, {"content-type": kind[text[0] == "{"]}, RecordedBody(text)),
            )
        )
        for target, text in answers.items()
    ]
    path.write_bytes(
        b"".join([line_of(RecordingHead(FORMAT, "http://unit.example", began)), *lines])
    )
    return path


def test_recorded_unit_gives_a_twin_the_settings_that_it_shows(tmp_path: Path) -> None:
    given = {"outputs.0.name": "Pump", "outputs.0.return_time": 90, "email.host": "mail.example"}
    with Twin(hw="3.5", sw="1.49", settings=given) as unit:
        files = {path: unit.get(path) for path in ("/json/status.json", "/json/outputs.json")}
    recording = record(tmp_path / "unit.jsonl", files)
    for twin in (Twin(settings=recording), Twin.process(settings=str(recording))):
        with twin:
            assert twin.profile == Profile("3.5", "1.49")
            assert twin.settings["outputs"][0]["return_time"] == 90
            assert twin.settings["outputs"][0]["name"] == "Pump"
            assert twin.settings["email"]["host"] == ""
        unit_shown = twin.recorded_unit
        assert unit_shown is not None
        assert unit_shown.why_unread("rules") == "/xml/eve2.xml is not in the recording"
        assert unit_shown.why_unread("email.host")
    with Twin(settings=recording, hw="3.9", sw="1.75") as newer:
        assert newer.settings["outputs"][0]["return_time"] == 90


def test_recorded_leverframe_gives_a_twin_all_but_what_was_masked(tmp_path: Path) -> None:
    given = {"email.host": "mail.example", "email.password": "x"}
    with Twin(hw="3.0", sw="1.58a", settings=given) as unit:
        answers = {path: unit.get(path) for path in ("/api/settings", "/json/all.json")}
    assert "***" in answers["/api/settings"]
    with Twin(settings=record(tmp_path / "unit.jsonl", answers)) as twin:
        assert twin.settings["email"]["host"] == "mail.example"
        assert twin.profile == Profile("3.0", "1.58a")
        assert twin.recorded_unit is not None
        assert set(twin.recorded_unit.unread) == {"email.password"}


def test_garbled_answers_in_a_recording_are_no_settings(tmp_path: Path) -> None:
    answers = {"/json/outputs.json": '{"ortime0": 5', "/json/inputs.json": '{"inpdp": "99"}'}
    with Twin(settings=record(tmp_path / "unit.jsonl", answers)) as twin:
        assert twin.recorded_unit is not None
        assert "is not JSON" in str(twin.recorded_unit.why_unread("outputs.0.return_time"))
        assert "not a mask of 4 bits" in str(
            twin.recorded_unit.why_unread("digital_inputs.0.pull_up")
        )
        assert any("The unit shows no version" in remark for remark in twin.recorded_unit.remarks)


@pytest.mark.needs_program("mosquitto")
@pytest.mark.needs_program("mosquitto_sub")
async def test_twin_is_connected_to_a_broker(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    listener = Listener(broker)
    await broker.start()
    try:
        await listener.start()
        address = f"mqtt://{USER}:{quote(PASSWORD)}@127.0.0.1:{broker.port}"
        async with Twin(mqtt=address) as twin:
            await listener.until_last("leverframe/status", "online")
            await twin.acommand("outs.cgi?out0=1")
            await listener.until_last("leverframe/OUT0", "1")
            assert twin.state["MQTT"] == 1
            fork = await asyncio.to_thread(twin.fork)
            assert fork.state["MQTT"] == 0
            await fork.acommand("outs.cgi?out0=0")
            await twin.acommand("outs.cgi?out1=1")
            await listener.until_last("leverframe/OUT1", "1")
            assert (listener.of("leverframe/OUT0")[-1], twin.state["MQTT"]) == ("1", 1)
    finally:
        await listener.stop()
        await broker.stop()


def test_sign_in_is_asked_for_where_there_are_accounts() -> None:
    with Twin(accounts={"keeper": "secret", "guest": "letmein"}) as twin:
        assert httpx.get(f"{twin.url}/api/settings", timeout=PATIENCE_S).status_code == 401
        assert twin.get("/api/settings")
        assert twin.get("/api/state", auth=("guest", "letmein"))
        with pytest.raises(TwinRefused, match="403"):
            twin.get("/api/settings", auth=("guest", "letmein"))
        twin.command("outs.cgi?out0=1")
        assert twin.state["OUT0"] == 1


def test_twin_serves_https_that_its_clients_can_trust() -> None:
    with Twin(tls=True) as twin:
        assert twin.url.startswith("https://")
        assert twin.get("/outs.cgi")
        assert twin.ca_file is not None
        assert Path(twin.ca_file).exists()
        folder = Path(twin.ca_file).parent
    assert not folder.exists()


def test_modbus_and_snmp_listen_on_reported_ports(twin: Twin) -> None:
    with pytest.raises(RuntimeError, match=r"Modbus TCP is off; switch it on with Twin\(modbus=T"):
        _ = twin.modbus
    with Twin(modbus=True, snmp=True) as other:
        host, port = other.modbus
        client = ModbusTcpClient(host, port=port)
        assert client.connect()
        assert client.write_coil(0, True).isError() is False
        client.close()
        assert other.state["OUT0"] == 1
        assert str(other.snmp).startswith("127.0.0.1:")


def test_lenient_twin_skips_what_it_does_not_understand() -> None:
    with Twin(lenient=True) as twin:
        assert twin.get("/outs.cgi?nonsense=1&out0=1")
        assert twin.state["OUT0"] == 1


@for_each(
    ("parameters", "error", "sentence"),
    [
        ({"hw": "4.0"}, UnknownProfile, "Choose one of 3.0"),
        ({"sw": "9"}, UnknownProfile, "Write it like 1.36"),
        ({"hw": "3.0", "sw": "1.75"}, UnknownProfile, "Software 1.75 does not exist for HW 3.0"),
        ({"mac": "1:2"}, BadConfiguration, "six pairs of hexadecimal digits"),
        ({"name": "x" * 40}, BadConfiguration, "at most 31 characters"),
        ({"timezone": "Mars/Base"}, BadConfiguration, "use a name such as Europe/Warsaw"),
        ({"start": "tomorrow"}, BadMoment, "write it like 2026-03-29T00:30"),
        (
            {"settings": {"outputs.9.name": "x"}},
            BadSettings,
            "Unknown setting 'outputs.9.name'",
        ),
        ({"settings": {"outputs.0.name": 7}}, BadSettings, "of the wrong type"),
        ({"settings": "unit.ini"}, BackupRefused, "end the name with .toml"),
        ({"mqtt": "broker"}, BadSettings, "write it like 127.0.0.1:1883"),
        ({"mqtt": "http://broker:1"}, BadSettings, "mqtt://NAME:PASSWORD"),
        ({"mqtt": "broker:x"}, BadSettings, "write it like 127.0.0.1:1883"),
        ({"modbus": True, "hw": "3.0"}, BadSettings, "modbus_tcp.enabled"),
    ],
)
def test_impossible_twin_is_an_error_before_it_starts(
    parameters: dict[str, object], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        Twin(**parameters)  # type: ignore[arg-type]


def test_more_accounts_than_a_unit_has_are_refused() -> None:
    with pytest.raises(BadSettings, match="the administrator, and optionally a user"):
        Twin(accounts={"a": "secret", "b": "secret", "c": "secret"}).start()


@pytest.mark.parametrize("text", ["5 parsecs", "-1h", "", -1])
def test_wrong_duration_is_an_error_with_examples(twin: Twin, text: str | int) -> None:
    with pytest.raises(BadDuration, match="is not a duration"):
        twin.advance(text)


# --- requests -------------------------------------------------------------------------------------


def test_requests_of_clients_are_noted_with_their_answers(twin: Twin) -> None:
    httpx.get(f"{twin.url}/outs.cgi?out0=1", timeout=PATIENCE_S)
    twin.advance("1h")
    httpx.post(f"{twin.url}/api/rules/try", content="event=0*99", timeout=PATIENCE_S)
    with pytest.raises(TwinRefused):
        twin.get("/outs.cgi?out9=1")
    twin.sense(DS1=20)
    first, second, third = twin.requests()
    assert (first.method, first.path, first.query, first.status) == (
        *("GET", "/outs.cgi", "out0=1", 200),
    )
    assert second.time - first.time == timedelta(hours=1)
    assert (second.method, second.status) == ("POST", 400)
    assert third.problem is not None
    assert third.problem.startswith("Field A: 9 is outside 0 to 5")
    assert twin.requests("/outs.cgi") == [first, third]
    assert twin.requests(method="POST") == [second]
    assert str(first) == "2026-01-05 00:00:00 GET /outs.cgi?out0=1 200"
    assert str(third).endswith("400: " + third.problem)
    twin.clear_requests()
    assert twin.requests() == []


def test_bytes_that_are_no_request_are_noted_with_their_refusal(twin: Twin) -> None:
    parts = urlsplit(twin.url)
    with socket.create_connection((parts.hostname, parts.port), 5) as client:
        client.sendall(b"nonsense\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 400")
    (request,) = twin.requests()
    assert (request.method, request.path, request.status) == ("", "", 400)
    assert request.problem


def test_requests_are_kept_without_secrets(twin: Twin) -> None:
    twin.get("/stm.cgi?em4=secret&sname=Cellar")
    httpx.post(f"{twin.url}/sim.cgi?sms=%2B48601:1234:out=0&DS1=20", timeout=PATIENCE_S)
    httpx.get(f"{twin.url}/outs.cgi?out0", timeout=PATIENCE_S)
    assert [request.query for request in twin.requests()] == [
        *("em4=***&sname=***", "sms=***&DS1=***", "out0"),
    ]


def test_requests_are_kept_up_to_a_bound_and_with_what_failed() -> None:
    def handle(request: Request) -> Answer:
        if request.path == "/fails":
            raise ZeroDivisionError
        return later() if request.path == "/fails-later" else Reply(200, "text/plain", b"")

    async def later() -> Reply:
        raise ZeroDivisionError

    journal = RequestJournal(lambda: 7.0, lambda one: OpenRequest(one.path, None, {}, None))
    noting = journal.before(handle)
    for _ in range(KEPT_REQUESTS):
        noting(Request("GET", "/outs.cgi"))
    with pytest.raises(ZeroDivisionError):
        noting(Request("GET", "/fails"))
    answer = noting(Request("GET", "/fails-later"))
    assert not isinstance(answer, Reply | StreamReply)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(answer)
    assert journal.count == KEPT_REQUESTS + 2
    entries = journal.entries()
    assert len(entries) == KEPT_REQUESTS
    assert [(entry.path, entry.status) for entry in entries[-2:]] == [
        ("/fails", 500),
        ("/fails-later", 500),
    ]


# --- faults ---------------------------------------------------------------------------------------


def test_fault_acts_until_its_end(twin: Twin) -> None:
    with twin.fault(faults.status(503), path="/json/all.json") as fault:
        assert repr(fault).startswith("<TwinFault status*code:503*path:/json/all.json*seed:")
        assert httpx.get(f"{twin.url}/json/all.json", timeout=PATIENCE_S).status_code == 503
        assert httpx.get(f"{twin.url}/outs.cgi", timeout=PATIENCE_S).status_code == 200
    assert httpx.get(f"{twin.url}/json/all.json", timeout=PATIENCE_S).status_code == 200
    fault.end()
    twin.fault(faults.status(), times=1)
    assert [
        httpx.get(f"{twin.url}/outs.cgi", timeout=PATIENCE_S).status_code for _ in range(2)
    ] == [500, 200]
    twin.fault(faults.frozen(), after="1min", for_=60)
    twin.advance("1min")
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{twin.url}/outs.cgi", timeout=0.05)
    assert twin.requests()[-1].status is None
    twin.advance("1min")
    assert twin.get("/outs.cgi")


def test_same_seed_makes_the_same_chances() -> None:
    def statuses() -> list[int]:
        with Twin(seed=7) as twin, httpx.Client(base_url=twin.url, timeout=PATIENCE_S) as client:
            twin.fault(faults.status(), chance=0.5)
            return [client.get("/outs.cgi").status_code for _ in range(20)]

    assert statuses() == statuses()
    assert set(statuses()) == {200, 500}


def test_raw_texts_hide_what_is_measured_until_they_are_taken_back(twin: Twin) -> None:
    twin.raw(ds1="-1270")
    twin.raw(ds1="850")
    assert '"ds1":"850"' in twin.get("/json/all.json")
    twin.raw(ds1=None)
    assert '"ds1":"850"' not in twin.get("/json/all.json")
    twin.raw(ds1="850")
    twin.reset()
    assert '"ds1":"850"' not in twin.get("/json/all.json")


def present(twin: Twin) -> list[str]:
    """Return the kinds of the faults that are set."""
    return [one["text"].split("*")[0] for one in _faults(twin)]


def _faults(twin: Twin) -> list[dict[str, str]]:
    report: list[dict[str, str]] = json.loads(twin.get("/api/sim"))["faults"]["set"]
    return report


def test_end_of_a_fault_that_a_restore_took_away_ends_no_other(twin: Twin) -> None:
    start = twin.snapshot()
    with twin.fault(faults.slow("1ms")):
        twin.restore(start)
        # It has the number that the other one had.
        twin.fault(faults.content_type("text/html"))
    assert present(twin) == ["content_type"]


def test_raw_texts_are_taken_back_whatever_was_restored_and_in_a_fork(twin: Twin) -> None:
    start = twin.snapshot()
    twin.raw(ds1="-1270")
    hidden = twin.snapshot()
    twin.raw(ds1=None)
    assert present(twin) == []
    twin.restore(hidden)
    fork = twin.fork()
    for one in (twin, fork):
        one.raw(ds1=None, tem="7")
        assert present(one) == ["raw"]
    twin.restore(start)
    twin.fault(faults.slow("1ms"))
    twin.raw(ds1="1*2", tem="8")
    twin.raw(ds1="3")
    assert present(twin) == ["slow", "raw", "raw"]
    assert '"ds1":"3"' in twin.get("/json/all.json")


def test_impossible_fault_is_an_error_at_the_call(twin: Twin) -> None:
    with pytest.raises(faults.BadFault, match="Allowed: "):
        twin.fault(faults.slow("5 parsecs"))
    with pytest.raises(faults.BadFault, match="sensor_stuck has no 'path'. Allowed: label"):
        twin.fault(faults.stuck("DS1"), path="/outs.cgi")
    for path in ("outs.cgi", "/outs.cgi?out0=1", "/json/*", "/outs.cgi#", "/ outs.cgi"):
        with pytest.raises(faults.BadFault, match="is not a path. Allowed: a path such as"):
            twin.fault(faults.status(500), path=path)


# --- rules and messages ---------------------------------------------------------------------------


def test_rule_in_the_words_of_the_pages_sends_a_mail(twin: Twin) -> None:
    assert twin.rule(when="DS1 >= 30", then="eMail 1", hysteresis=1) == 1
    twin.sense(DS1=31)
    (mail,) = twin.outbox.emails
    assert (mail.sender, mail.to, mail.text) == (
        *("twin@example.org", "keeper@example.org", "DS1 >= 30"),
    )
    assert mail.subject == f"Message from {twin.name}"
    assert mail.reason == "rule 1"
    twin.outbox.clear()
    assert twin.outbox.emails == []
    twin.sense(DS1=29.5)
    twin.sense(DS1=30.5)
    assert twin.outbox.emails == []
    twin.sense(DS1=28)
    twin.sense(DS1=30)
    assert len(twin.outbox.emails) == 1


def test_every_kind_of_message_is_kept_whole(twin: Twin) -> None:
    for then in ("SMS2", "HTTP3", "MQTT", "SNMP trap", "eMail 4"):
        twin.rule(when="DS1 >= 30", then=then)
    twin.sense(DS1=31)
    outbox = twin.outbox
    assert outbox.problems == []
    assert [(sms.to, sms.text) for sms in outbox.sms] == [("+48600000000", "DS1 >= 30")]
    assert [(call.slot, call.method, call.url) for call in outbox.http] == [
        (3, "GET", "http://hook.example/3")
    ]
    assert [message.topic for message in outbox.mqtt] == ["twin/notify"]
    assert '"label":"DS1","value":31.0' in outbox.mqtt[0].text
    assert [(trap.to, trap.text) for trap in outbox.traps] == [
        ("hook.example:162", "rule 4 activated: DS1 31")
    ]
    assert len(outbox.emails) == 1


def test_message_that_is_set_up_already_stays_as_it_is(twin: Twin) -> None:
    twin.command(
        "stm.cgi?em1=a.example&em2=25&em3=u&em4=p&em5=a@b.example&em6=c@d.example&em7=Hi&em8=Hot"
        "*******&em9=0",
        "stm.cgi?gsmnumber1=%2B48111&gsmsms1=Hot*",
        "stm.cgi?http1=http://own.example/",
    )
    for then in ("email 1", "SMS1", "HTTP1"):
        twin.rule(when="DS1 >= 30", then=then)
    twin.sense(DS1=31)
    (mail,), (sms,), (call,) = twin.outbox.emails, twin.outbox.sms, twin.outbox.http
    assert (mail.to, mail.subject, mail.text) == ("a@b.example", "Hi", "Hot")
    assert (sms.to, sms.text, call.url) == ("+48111", "Hot", "http://own.example/")


def test_message_that_cannot_be_written_has_the_reason(twin: Twin) -> None:
    twin.command("inpa.cgi?event=0*10*0*3000*0*0*24*0*0*0*0*0*1*0*0*0", "inpa.cgi?eventon=0*1")
    twin.sense(DS1=31)
    assert twin.outbox.problems == ["HTTP1 has no address; set one with http1=..."]


def test_rules_have_two_conditions_delays_and_what_they_set(twin: Twin) -> None:
    twin.rule(when="DS1 < 5 and INPD1 = 1", then="OUT2 on", on_delay="10s", off_delay=20)
    twin.rule(when="OUT2 = 1", then="PWM1 off", permanent=True)
    first, second = twin.settings["rules"]
    assert (first["operator"], first["source2"], first["on_delay"]) == ("AND", "INPD1", 10)
    assert (first["off_delay"], first["value"], first["enabled"]) == (20, 1, True)
    assert (second["action"], second["value"], second["permanent"]) == ("PWM1", 0, True)
    twin.sense(DS1=4, INPD1=1)
    twin.advance(9)
    assert twin.state["OUT2"] == 0
    twin.advance(1)
    assert twin.state["OUT2"] == 1


def test_older_versions_have_rules_in_the_same_words() -> None:
    with Twin(hw="3.0", sw="1.58a") as twin:
        twin.rule(when="DS1 >= 30", then="OUT2 on")
        twin.sense(DS1=31)
        assert twin.state["OUT2"] == 1


@pytest.mark.parametrize(
    ("when", "then", "sentence"),
    [
        ("DS1 > 30", "OUT0", "is not a condition. Allowed: SOURCE >= NUMBER"),
        ("DSX >= 30", "OUT0", "DSX is not available to rules of HW 3.9"),
        ("DS1 >= 30", "OUT9 on", "OUT9 is not available to rules .* Allowed: AutoSwitch OUT0"),
        ("DS1 = 1", "OUT0", "DS1 is not on or off. Allowed: a number: DS1 >= 20"),
        ("OUT1 >= 1", "OUT0", "OUT1 has no numbers. Allowed: OUT1 is on or is off"),
        ("DS1 >= 30.125", "OUT0", "numbers have at most two decimals"),
    ],
)
def test_impossible_rule_is_an_error_with_the_possible_ones(
    twin: Twin, when: str, then: str, sentence: str
) -> None:
    with pytest.raises(BadRule, match=sentence):
        twin.rule(when=when, then=then)
    assert twin.settings["rules"] == []


def test_delay_or_hysteresis_that_a_rule_cannot_hold_is_not_rounded(twin: Twin) -> None:
    with pytest.raises(BadRule, match="0.5 s is not possible; delays of rules are whole seconds"):
        twin.rule(when="DS1 >= 30.1", then="OUT0", on_delay="500ms")
    with pytest.raises(BadRule, match="0.005 has too many decimals"):
        twin.rule(when="DS1 >= 30.1", then="OUT0", hysteresis=0.005)


def test_delay_that_the_version_does_not_have_is_refused() -> None:
    with Twin(hw="3.5", sw="1.49") as twin:
        with pytest.raises(BadRule, match="HW 3.5 SW 1.49 have no on delay"):
            twin.rule(when="DS1 >= 30", then="OUT0", on_delay=5)
        assert twin.rule(when="DS1 >= 30", then="OUT0", off_delay=5) == 1


def test_rule_that_an_older_version_cannot_express_is_refused() -> None:
    with Twin(hw="3.0", sw="1.58a") as twin, pytest.raises(BadRule, match="cannot express"):
        twin.rule(when="DS1 >= 30", then="OUT0 reverse")


def test_cause_of_a_value_is_explained_in_sentences(twin: Twin) -> None:
    twin.rule(when="DS1 >= 30 or DS2 >= 40", then="OUT2 on")
    assert twin.explain("OUT2").splitlines() == [
        "OUT2 is 0.",
        "It has not been switched since the start.",
        "Rule 1, DS1 >= 30 OR DS2 >= 40, then OUT2 on: Source DS1 is absent.",
    ]
    twin.sense(DS1=31, DS2=3)
    twin.command("outs.cgi?ortime=060", "outs.cgi?out0=1")
    assert "2026-01-05 00:00:00, rule 1: OUT2 on" in twin.explain("OUT2")
    assert twin.explain("OUT2").splitlines()[-1] == (
        "Rule 1, DS1 >= 30 OR DS2 >= 40, then OUT2 on: The conditions are met: DS1 is 31 °C (at"
        " least"
        " 30 °C: yes), DS2 is 3 °C (at least 40 °C: no)."
    )
    assert "It switches off in 1m." in twin.explain("OUT0")
    twin.unplug("DS1")
    assert twin.explain("DS1").startswith("DS1 is absent since 2026-01-05 00:00:00.")
    with pytest.raises(UnknownLabel, match="Unknown label 'OUT9'. Known labels: VCC"):
        twin.explain("OUT9")


def test_pulses_of_rules_are_explained(twin: Twin) -> None:
    twin.rule(when="DS1 >= 30", then="PULSE OUT3", off_delay=10)
    twin.sense(DS1=31)
    assert twin.explain("OUT3").splitlines() == [
        "OUT3 is 1.",
        "It switches off in 10s.",
        "2026-01-05 00:00:00, rule 1: OUT3 on",
        "Rule 1, DS1 >= 30, then OUT3 on for 10 s: The conditions are met: DS1 is 31 °C"
        " (at least 30 °C: yes).",
    ]
    twin.command("inpa.cgi?eventon=0*0")
    assert twin.explain("OUT3").endswith("OUT3 on for 10 s: The rule is disabled.")


def test_refusals_of_commands_are_raised_with_their_sentence(twin: Twin) -> None:
    with pytest.raises(TwinRefused, match="9 is outside 0 to 5"):
        twin.command("outs.cgi?out0=1", "outs.cgi?out9=1")
    twin.command("post.cgi?sched_save s0=lamp*0*1*64800*0*127*1&&")
    assert twin.settings["schedule"][0]["name"] == "lamp"
    assert any("lamp" in entry["text"] for entry in twin.journal)


async def test_twin_on_the_loop_of_the_test_is_looked_into_directly() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok("/outs.cgi?out0=1")
        assert twin.controller.engine.values["OUT0"] == 1
        assert await twin.outputs() == "100000"
