"""Twins as processes of their own."""

import json
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from leverframe.testing import ProcessTwin, Twin, TwinNotReached, TwinRefused, faults
from leverframe.testing.process_twin import TwinDidNotStart
from leverframe.testing.rule_words import BadRule
from tests.patience import PATIENCE_S


@pytest.mark.thorough
def test_killed_twin_resumes_with_its_confirmed_state(tmp_path: Path) -> None:
    with Twin.process(
        data=tmp_path,
        hw="3.5",
        sw="1.49",
        settings={"outputs.0.name": "Pump"},
        accounts={"keeper": "secretly"},
        modbus=True,
        snmp=True,
        start="2026-03-29T00:30",
        timezone="Europe/Warsaw",
    ) as twin:
        assert isinstance(twin, ProcessTwin)
        assert twin.profile.sw == twin.state["profile"]["sw"] == "1.49"
        assert twin.now.isoformat() == "2026-03-29T00:30:00+01:00"
        assert httpx.get(f"{twin.url}/api/state", timeout=PATIENCE_S).status_code == 401
        twin.command("stm.cgi?sname=Cellar")
        twin.advance("2h")
        first = twin.pid
        twin.kill()
        with pytest.raises(RuntimeError, match="The twin is off"):
            _ = twin.state
        twin.start()
        assert twin.start().pid != first
        assert twin.now.isoformat() == "2026-03-29T03:30:00+02:00"
        settings = twin.settings
        assert (settings["name"], settings["outputs"][0]["name"]) == ("Cellar", "Pump")
        assert twin.modbus.port != twin.snmp.port
    with pytest.raises(RuntimeError, match="The twin is off"):
        _ = twin.pid


def test_process_twin_can_do_what_all_twins_can() -> None:
    with Twin.process(tls=True) as twin:
        twin.get("/outs.cgi")
        snapshot = twin.snapshot()
        twin.rule(when="DS1 >= 30", then="eMail 1")
        twin.sense(DS1=31)
        assert [mail.text for mail in twin.outbox.emails] == ["DS1 >= 30"]
        assert [request.path for request in twin.requests()] == ["/outs.cgi"]
        with twin.fault(faults.status(503)):
            with pytest.raises(TwinRefused, match="503"):
                twin.get("/outs.cgi")
            assert twin.state["DS1"] == 31
        twin.fault(faults.status(503), times=1).end()
        assert twin.get("/outs.cgi")
        twin.restore(snapshot)
        assert twin.settings["rules"] == []
        begin = twin.now
        twin.command("stm.cgi?oname=0Pump", "outs.cgi?ortime=0600", "outs.cgi?out0=1")
        twin.until("Pump = off")
        with pytest.raises(TwinNotReached, match="'Pump = on' was not met within 50min"):
            twin.until("Pump = on", "50min")
        assert twin.now - begin == timedelta(hours=1)
        with pytest.raises(BadRule, match="Unknown label or name 'DSX'. Allowed: VCC"):
            twin.until("DSX > 1")
        twin.reset()
        assert twin.now.isoformat() == "2026-01-05T00:00:00+00:00"
        assert twin.requests() == []
        with pytest.raises(RuntimeError, match="switch it on with modbus=True"):
            _ = twin.modbus
        folder = twin.data
    assert not folder.exists()


@pytest.mark.thorough
def test_one_that_a_fault_keeps_from_being_reached_is_waited_for() -> None:
    with Twin.process() as twin:
        before = twin.now
        twin.reboot(takes="0.2s")
        assert twin.now - before >= timedelta(seconds=0.2)
        for fault in (faults.reboot(takes=0), faults.brown_out(cycles=1, off=0.1, on=0.1)):
            with twin.fault(fault):
                assert twin.state["OUT0"] == 0
        with twin.fault(faults.refuse(), for_="0.1s") as refusing:
            pass
        refusing.end()
        assert json.loads(twin.get("/api/sim"))["faults"]["set"] == []


def test_folder_with_accounts_is_resumed(tmp_path: Path) -> None:
    accounts = {"keeper": "secretly"}
    with Twin.process(data=tmp_path, accounts=accounts) as twin:
        twin.command("stm.cgi?sname=Cellar")
    with Twin.process(data=tmp_path, accounts=accounts) as twin:
        assert twin.settings["name"] == "Cellar"
        with pytest.raises(TwinRefused, match="401"):
            twin.get("/outs.cgi", auth=("keeper", "wrong"))


def test_process_that_fails_to_start_reports_the_reason(tmp_path: Path) -> None:
    with Twin.process(data=tmp_path), pytest.raises(TwinDidNotStart, match="is in use by process"):
        Twin.process(data=tmp_path).start()
