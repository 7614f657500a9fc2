"""Many twins that share one time, and code under test that goes by it."""

import asyncio
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from leverframe.core.profile import UnknownProfile
from leverframe.testing import Fleet, Twin
from leverframe.testing.fleet import BadFleet
from leverframe.testing.transport import LOOP_THREAD
from leverframe.testing.twin_client import fetch_text


def test_fleet_has_its_versions_in_turn_and_each_its_own_address() -> None:
    with Fleet(4, versions=["3.0/1.58a", "3.5"], timezone="Europe/Warsaw") as fleet:
        assert [twin.profile.hw for twin in fleet] == ["3.0", "3.5", "3.0", "3.5"]
        assert len({twin.url for twin in fleet}) == len(fleet) == 4
        assert len({twin.mac for twin in fleet}) == 4
        fleet.command("outs.cgi?out0=1")
        assert [twin.state["OUT0"] for twin in fleet[:2]] == [1, 1]
        fleet.reset()
        assert fleet[3].state["OUT0"] == 0
    assert not fleet[0].is_on


def test_due_events_of_all_twins_happen_in_order_of_time() -> None:
    with Fleet(3) as fleet:
        for place, seconds in enumerate((30, 10, 20)):
            fleet[place].command(f"outs.cgi?ortime=0{seconds}", "outs.cgi?out0=1")
        order: list[tuple[float, int]] = []

        async def watch() -> None:
            for place, twin in enumerate(fleet):
                clock = twin.controller.clock
                twin.controller.watchers.add(
                    lambda clock=clock, place=place: order.append((clock.now(), place))  # type: ignore[misc]
                )

        LOOP_THREAD.run(watch())
        fleet.advance("1min")
        assert [(now, place) for now, place in order if now < 60] == [(10, 1), (20, 2), (30, 0)]
        assert {twin.now for twin in fleet} == {fleet.clock.now}
        assert [twin.state["OUT0"] for twin in fleet] == [0, 0, 0]


async def test_fleet_has_async_forms_and_goes_to_a_moment() -> None:
    async with Fleet(2, start="2026-03-29T00:30", timezone="Europe/Warsaw") as fleet:
        await fleet.aadvance("30min")
        fleet.advance_to("2026-03-29T03:30")
        assert {twin.now.isoformat() for twin in fleet} == {"2026-03-29T03:30:00+02:00"}


def test_step_goes_to_what_is_due_next_for_one_of_them() -> None:
    with Fleet(2) as fleet:
        before = fleet.clock.now.timestamp()
        fleet[1].command("outs.cgi?ortime=07&out0=1")
        while fleet[1].state["OUT0"]:
            assert fleet.step() > 0
        assert {twin.now.timestamp() for twin in fleet} == {before + 7}


def test_impossible_fleet_is_an_error() -> None:
    with pytest.raises(BadFleet, match="at least one twin, not 0"):
        Fleet(0)
    with pytest.raises(UnknownProfile, match="Choose one of 3.0"):
        Fleet(2, versions=["4.0/1.0"])


def test_failed_start_of_one_closes_the_others() -> None:
    fleet = Fleet(2)
    fleet[1].start = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    with pytest.raises(ZeroDivisionError):
        fleet.start()
    assert not fleet[0].is_on


class Traveller:
    """What time-machine and freezegun give to move the time by."""

    def __init__(self) -> None:
        self.moments: list[datetime] = []

    def move_to(self, moment: datetime) -> None:
        self.moments.append(moment.astimezone(UTC))


def test_time_of_the_code_under_test_follows_that_of_the_twins(twin: Twin) -> None:
    traveller, begin = Traveller(), twin.now
    with twin.clock.moving_with(traveller):
        twin.advance("1h")
        twin.until(lambda: twin.now - begin >= timedelta(hours=2), "1h")
    twin.advance("1h")
    hour = timedelta(hours=1)
    assert traveller.moments[:2] == [begin, begin + hour]
    assert traveller.moments[-1] == begin + 2 * hour


def test_time_of_the_code_under_test_goes_back_with_the_twin(twin: Twin) -> None:
    traveller, begin = Traveller(), twin.now
    start = twin.snapshot()
    with twin.clock.moving_with(traveller):
        for go_back in (lambda: twin.restore(start), twin.reset):
            twin.sim("advance=60")
            assert traveller.moments[-1] == begin + timedelta(minutes=1)
            go_back()
            assert traveller.moments[-1] == begin


def test_wrong_mover_of_time_is_an_error(twin: Twin) -> None:
    with pytest.raises(TypeError, match="pass time_machine, freezegun"), twin.clock.moving_with(7):
        pass


def test_time_machine_and_freezegun_follow_a_fleet() -> None:
    time_machine = pytest.importorskip("time_machine")
    freezegun = pytest.importorskip("freezegun")
    with Fleet(2) as fleet:
        for module in (time_machine, freezegun):
            with fleet.clock.moving_with(module):
                fleet.advance("1h")
                assert datetime.now(UTC) == fleet.clock.now
        assert datetime.now(UTC) != fleet.clock.now


def test_loop_of_the_code_under_test_uses_the_time_of_the_twins(twin: Twin) -> None:
    async def code_under_test() -> float:
        loop = asyncio.get_running_loop()
        sleeping = asyncio.create_task(asyncio.sleep(3600))
        await asyncio.sleep(0)
        await twin.aadvance("59min 59s")
        assert not sleeping.done()
        await twin.aadvance("1s")
        await sleeping
        return loop.time()

    with asyncio.Runner(loop_factory=twin.clock.new_event_loop) as runner:
        assert runner.run(code_under_test()) == 3600
    twin.advance("1h")


def test_loop_continues_when_the_twin_is_restored(twin: Twin) -> None:
    async def code_under_test() -> None:
        start = twin.snapshot()
        await twin.aadvance("1h")
        twin.restore(start)
        sleeping = asyncio.create_task(asyncio.sleep(60))
        await asyncio.sleep(0)
        await twin.aadvance("59s")
        assert not sleeping.done()
        await twin.aadvance("1s")
        await sleeping

    with asyncio.Runner(loop_factory=twin.clock.new_event_loop) as runner:
        runner.run(asyncio.wait_for(code_under_test(), 10**6))


def test_twins_of_a_fleet_share_one_port_and_have_an_address_each() -> None:
    with Fleet(3, modbus=True, snmp=True, mac="02:00:00:00:00:01") as fleet:
        parts = [urlsplit(twin.url) for twin in fleet]
        assert len({one.port for one in parts}) == 1
        assert len({one.hostname for one in parts}) == 3
        assert {twin.mac for twin in fleet} == {"02:00:00:00:00:01"}
        assert fleet[1].modbus.host == fleet[1].snmp.host == parts[1].hostname
        fleet[1].command("outs.cgi?out0=1")
        assert '"out0":"1"' in fetch_text(fleet[1].url, "/json/all.json", None, None)
        with fleet[1].fork() as fork:
            assert fork.state["OUT0"] == 1
            assert fork.url not in {twin.url for twin in fleet}
    with fleet:
        assert fleet[1].state["OUT0"] == 0


def test_command_to_a_fleet_has_a_result_for_each_twin() -> None:
    with Fleet(4, versions=["3.9", "3.9", "3.9", "3.0/1.18"]) as fleet:
        newer = "stm.cgi?eventname=1Frost"
        tried = fleet.send(newer, dry_run=True)
        assert (tried.done, tried.refused) == (3, 1)
        assert "HW 3.0 SW 1.18" in str(tried.results[3].detail)
        assert fleet.send(newer, all_or_none=True).done == 0
        assert fleet.send("outs.cgi?out0=1").done == 4
        snapshots, digest = fleet.snapshot(), fleet.journal_digest
        fleet.send("outs.cgi?out0=0")
        assert fleet.journal_digest != digest
        fleet.restore(snapshots)
        assert [twin.state["OUT0"] for twin in fleet] == [1, 1, 1, 1]
        assert fleet.journal_digest == digest
    with pytest.raises(BadFleet, match="The twins are off"):
        fleet.send("outs.cgi?out0=1")


def test_twins_that_a_node_cannot_have_get_ports_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Fleet(2, name="Same") as fleet:
        assert {twin.name for twin in fleet} == {"Same"}
        assert len({urlsplit(twin.url).port for twin in fleet}) == 2
        with pytest.raises(BadFleet, match="ports of their own"):
            fleet.send("outs.cgi?out0=1")
    monkeypatch.setattr("leverframe.fleet.door.bind_to_loopback", lambda *_: None)
    with Fleet(2) as fleet:
        assert len({urlsplit(twin.url).port for twin in fleet}) == 2


def test_roll_out_goes_by_groups_stops_at_refusals_and_can_be_undone() -> None:
    command = "stm.cgi?eventname=1Frost"

    def names(fleet: Fleet) -> list[str]:
        return [twin.controller.engine.settings.event_variables[1].name for twin in fleet]

    with Fleet(4, versions=["3.9/1.75", "3.9/1.75", "3.0/1.58a", "3.9/1.75"]) as fleet:
        before = names(fleet)
        rollout = fleet.roll_out(command, groups="2,1,rest")
        assert (rollout.status, rollout.report.group) == ("stopped", 1)
        assert rollout.report.why == "0 of 1 controllers in group 2 succeeded; 100 % are required."
        assert [one.name for one in rollout.failed] == ["twin-3"]
        assert names(fleet) == ["Frost", "Frost", *before[2:]]
        assert rollout.retry().status == "stopped"
        assert rollout.resume().status == "finished"
        assert names(fleet)[3] == "Frost"
        assert rollout.undo().status == "undone"
        assert names(fleet) == before
        assert fleet.roll_out(command, groups="1,rest", success=0).status == "finished"
