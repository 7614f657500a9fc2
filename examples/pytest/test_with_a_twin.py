"""What tests with a twin look like."""

from urllib.error import HTTPError

import pytest


def test_the_pump_goes_off_by_itself(twin):
    twin.get("/outs.cgi?ortime=0600")
    twin.get("/outs.cgi?out0=1")
    twin.advance(599)
    assert twin.state()["OUT0"] == 1
    twin.advance(1)
    assert twin.state()["OUT0"] == 0


def test_the_fan_runs_while_it_is_warm(twin):
    twin.get("/inpa.cgi?event=0*10*0*2150*50*0*2*0*0*0*0*0&eventon=0*1")
    twin.set_readings(DS1=22)
    assert twin.state()["OUT2"] == 1
    twin.set_readings(DS1=20.9)
    assert twin.state()["OUT2"] == 0


def test_a_mistake_changes_nothing(twin):
    with pytest.raises(HTTPError) as refusal:
        twin.get("/stm.cgi?oname=0Pump&oname=7Fan")
    assert refusal.value.code == 400
    assert "Pump" not in twin.get("/api/settings")
