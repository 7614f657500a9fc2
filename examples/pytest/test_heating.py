"""Tests with twins: no conftest, no process, no waiting. Run with `pytest`.

The fixtures `twin`, `twin_factory` and `fleet` come with the package `pytest-leverframe`.
"""

import asyncio
import threading

import pytest
from heating import Heating, UnitUnreachable

from leverframe.testing import Fleet, Twin, TwinRefused, faults

THREE_VERSIONS = ["3.0/1.58a", "3.5/1.49", "3.9/1.75"]


# --- the client and the machine -------------------------------------------------------------------


@pytest.mark.leverframe(versions=THREE_VERSIONS)
def test_cold_room_is_heated_by_every_version(twin):
    twin.sense(DS1=18)
    Heating(twin.url).regulate()
    assert twin.state["OUT0"] == 1
    assert Heating(twin.url).is_heating()


def test_warm_room_is_not_heated(twin):
    twin.sense(DS1=22)
    Heating(twin.url).regulate()
    assert twin.state["OUT0"] == 0


def test_room_without_thermometer_is_not_heated(twin):
    twin.sense(DS1=18)
    heating = Heating(twin.url)
    heating.regulate()
    twin.unplug("DS1")
    heating.regulate()
    assert heating.temperature() is None
    assert twin.state["OUT0"] == 0


def test_unit_switches_off_after_ten_minutes(twin):
    twin.command("outs.cgi?ortime=0600")
    twin.sense(DS1=18)
    Heating(twin.url).regulate()
    twin.advance("9min 59s")
    assert twin.state["OUT0"] == 1
    twin.advance("1s")
    assert twin.state["OUT0"] == 0


@pytest.mark.leverframe(settings="unit7.toml", mac="02:00:00:00:00:07")
def test_unit_of_a_customer_is_restored_from_its_backup(twin):
    assert (twin.name, twin.mac, twin.profile.sw) == ("unit7", "02:00:00:00:00:07", "1.49")
    assert twin.settings["outputs"][0]["name"] == "Heater"


def test_old_unit_refuses_newer_command(twin_factory):
    with pytest.raises(TwinRefused, match="HW 3.5"):
        twin_factory(hw="3.0", sw="1.58a").command("stm.cgi?modbuson=1")


# --- faults ---------------------------------------------------------------------------------------


def test_slow_answer_is_retried(twin):
    twin.sense(DS1=18)
    with twin.fault(faults.slow(0.2), path="/json/all.json", times=1):
        assert Heating(twin.url, timeout=0.05).temperature() == 18
    assert len(twin.requests("/json/all.json")) == 2


@pytest.mark.parametrize(
    "fault",
    [faults.status(503), faults.garbage(), faults.reset_after(300), faults.cut(40)],
    ids=lambda fault: fault.kind,
)
def test_broken_answer_is_retried(twin, fault):
    twin.sense(DS1=18)
    with twin.fault(fault, path="/json/all.json", times=2):
        assert Heating(twin.url).temperature() == 18
    assert len(twin.requests("/json/all.json")) == 3


def test_unreachable_unit_raises_an_error(twin):
    with twin.fault(faults.refuse()), pytest.raises(UnitUnreachable, match="refused"):
        Heating(twin.url).regulate()


def test_reboot_takes_eight_seconds(twin):
    heating = Heating(twin.url, tries=1)
    twin.sense(DS1=18)
    twin.reboot(takes="8s")
    with pytest.raises(UnitUnreachable):
        heating.regulate()
    twin.advance("8s")
    heating.regulate()
    assert twin.state["OUT0"] == 1


@pytest.mark.parametrize("text", ["850", "-1270", "-600", "?"])
def test_impossible_temperature_is_ignored(twin, text):
    twin.sense(DS1=18)
    twin.raw(ds1=text)
    heating = Heating(twin.url)
    heating.regulate()
    assert heating.temperature() is None
    assert twin.state["OUT0"] == 0


# --- messages and rules ---------------------------------------------------------------------------


def test_mail_is_sent_once_when_it_is_too_hot(twin):
    twin.rule(when="DS1 >= 30", then="eMail 1", hysteresis=1)
    twin.sense(DS1=31)
    (mail,) = twin.outbox.emails
    assert (mail.to, mail.text) == ("keeper@example.org", "DS1 >= 30")
    twin.outbox.clear()
    twin.sense(DS1=29.5)
    twin.sense(DS1=30.5)
    assert twin.outbox.emails == []


def test_heater_state_is_explained(twin):
    twin.rule(when="DS1 < 5", then="OUT0 on")
    twin.sense(DS1=4)
    assert "rule 1: OUT0 on" in twin.explain("OUT0")


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.leverframe(start="2026-03-29T00:30", timezone="Europe/Warsaw")
def test_schedule_in_the_missing_hour_runs_at_its_end(twin):
    # Every day at 02:30, which does not exist; the unit runs it at the end of the gap.
    twin.command("post.cgi?sched_save s0=heat*0*1*9000*0*127*1&&")
    twin.until("OUT0 = 1")
    assert twin.now.isoformat() == "2026-03-29T03:00:00+02:00"


def test_tested_program_uses_the_clock_of_the_twins(fleet):
    time_machine = pytest.importorskip("time_machine")
    units = fleet(2, start="2026-06-01T05:59:59")
    with units.clock.moving_with(time_machine):
        before = Heating(units[0].url).hour()
        units.advance("1s")
        assert Heating(units[0].url).hour() == (before + 1) % 24


def test_asyncio_sleep_uses_the_clock_of_the_twin(twin):
    async def heat_in_an_hour():
        await asyncio.sleep(3600)
        await asyncio.to_thread(Heating(twin.url).regulate)

    async def test():
        twin.sense(DS1=18)
        running = asyncio.create_task(heat_in_an_hour())
        await asyncio.sleep(0)
        await twin.aadvance("59min")
        assert not running.done()
        await twin.aadvance("1min")
        await running
        assert twin.state["OUT0"] == 1

    with asyncio.Runner(loop_factory=twin.clock.new_event_loop) as runner:
        runner.run(test())


# --- fleets and snapshots -------------------------------------------------------------------------


def test_ten_units_of_three_versions_share_one_clock(fleet):
    units = fleet(10, versions=THREE_VERSIONS)
    for unit in units:
        unit.sense(DS1=18)
    threads = [threading.Thread(target=Heating(unit.url).regulate) for unit in units]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    units.advance("1h")
    assert [unit.state["OUT0"] for unit in units] == [1] * 10
    assert len({unit.url for unit in units}) == 10


def test_snapshot_is_restored_and_forked(twin):
    twin.command("outs.cgi?ortime=0600")
    twin.sense(DS1=18)
    Heating(twin.url).regulate()
    moment = twin.snapshot()
    twin.advance("1h")
    assert twin.state["OUT0"] == 0
    twin.restore(moment)
    assert twin.state["OUT0"] == 1
    with twin.fork() as other:
        other.sense(DS1=25)
        Heating(other.url).regulate()
        assert (other.state["OUT0"], twin.state["OUT0"]) == (0, 1)


def test_reset_unit_is_new(twin):
    twin.command("stm.cgi?sname=Cellar", "outs.cgi?out0=1")
    twin.reset()
    assert twin.state["OUT0"] == 0
    assert twin.name != "Cellar"


def test_without_any_fixture():
    with Twin(hw="3.5", sw="1.49") as twin, Fleet(2) as fleet:
        assert twin.get("/json/status.json")
        assert len(fleet) == 2


async def _request_two():
    async with Twin() as first, Twin() as second:
        return await asyncio.gather(first.aget("/outs.cgi"), second.aget("/outs.cgi"))


def test_in_asyncio():
    assert len(asyncio.run(_request_two())) == 2
