"""The watchdog: when it pings, what a failure leads to, and when it gives up."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.core.engine.calls import DriveOutput, Notify, PingHost
from leverframe.core.settings import WatchdogEntry

from .bench import START_NOW, Bench

HOST = "router.example"


def entry(**fields: object) -> WatchdogEntry:
    """Enabled: pings 5 s after the start and every 10 s, restarts for 3 s after two failures."""
    chosen: dict[str, object] = {
        "enabled": True,
        "host": HOST,
        "failures": 2,
        "timeout": 2,
        "interval": 10,
        "wait": 30,
        "length": 3,
        "limit": 0,
        "delay": 5,
        **fields,
    }
    return WatchdogEntry(**chosen)  # type: ignore[arg-type]


def bench_with(*entries: WatchdogEntry, on: bool = True) -> Bench:
    bench = Bench({f"watchdog.{index}": entry for index, entry in enumerate(entries)})
    if on:
        bench.switch_on("OUT0")
    bench.effects()
    return bench


def answer(bench: Bench, milliseconds: float | None = 12.5, entry: int = 0) -> None:
    effects = bench.engine.ping_answered(entry, milliseconds, bench.at)
    assert not any(isinstance(effect, PingHost) for effect in effects)


def state(bench: Bench, index: int = 0) -> tuple[str, int, int]:
    explained = bench.engine.watchdog.explain()[index]
    return explained.state, explained.failures, explained.restarts


def ping_times(bench: Bench, seconds: int, *, answered: bool) -> list[float]:
    """Seconds from the start at which entry 0 pinged during a number of seconds."""
    times = []
    for _ in range(seconds):
        bench.wait(1)
        for ping in bench.effects(PingHost):
            assert isinstance(ping, PingHost)
            times.append(bench.now - START_NOW)
            if answered:
                answer(bench)
    return times


def let_fail(bench: Bench) -> None:
    """Let the pings of a fresh entry fail until it restarts: at 5 s and 15 s, 2 s each."""
    bench.wait(5 + 10 + 2)
    bench.effects(PingHost)


def test_six_entries_are_off_from_the_factory() -> None:
    bench = Bench()
    assert [explained.state for explained in bench.engine.watchdog.explain()] == ["off"] * 6
    assert bench.due_in() is None


def test_entry_without_a_host_is_off() -> None:
    bench = bench_with(entry(host=""))
    assert (state(bench)[0], bench.due_in()) == ("off", None)


def test_first_ping_comes_after_the_delay_and_then_one_every_interval() -> None:
    bench = bench_with(entry())
    assert state(bench) == ("waiting", 0, 0)
    assert ping_times(bench, 30, answered=True) == [5, 15, 25]
    assert state(bench) == ("running", 0, 0)


def test_ping_names_entry_host_and_timeout() -> None:
    bench = bench_with(WatchdogEntry(), entry(timeout=4))
    bench.wait(5)
    assert bench.effects() == [PingHost(1, HOST, 4.0)]


def test_later_enabled_entry_waits_its_delay_from_then() -> None:
    bench = bench_with(entry(enabled=False))
    bench.wait(100)
    bench.set(watchdog__0__enabled=True)
    assert bench.due_in() == 5


def test_no_answer_within_the_timeout_is_a_failure() -> None:
    bench = bench_with(entry())
    bench.wait(5 + 1.9)
    assert state(bench) == ("running", 0, 0)
    bench.wait(0.1)
    assert state(bench) == ("running", 1, 0)
    assert bench.engine.watchdog.explain()[0].last_answer == "timed out"


def test_reported_failure_counts_immediately() -> None:
    bench = bench_with(entry())
    bench.wait(5)
    answer(bench, None)
    assert state(bench) == ("running", 1, 0)
    assert bench.due_in() == 10


def test_answer_slower_than_the_timeout_is_a_failure() -> None:
    bench = bench_with(entry())
    bench.wait(5)
    answer(bench, 2001.0)
    assert state(bench) == ("running", 1, 0)


def test_answer_after_the_timeout_is_ignored() -> None:
    bench = bench_with(entry())
    bench.wait(5 + 2)
    answer(bench)
    assert state(bench) == ("running", 1, 0)
    assert bench.engine.watchdog.explain()[0].last_answer == "timed out"


def test_second_answer_to_one_ping_is_ignored() -> None:
    bench = bench_with(entry())
    bench.wait(5)
    answer(bench)
    answer(bench, None)
    assert state(bench) == ("running", 0, 0)


def test_unexpected_answer_is_ignored() -> None:
    bench = bench_with(entry(enabled=False))
    answer(bench)
    answer(bench, None)
    assert state(bench) == ("off", 0, 0)


def test_success_resets_the_failures() -> None:
    bench = bench_with(entry())
    bench.wait(5 + 2)
    bench.wait(8)
    answer(bench)
    assert state(bench) == ("running", 0, 0)
    bench.wait(10 + 2)
    assert state(bench) == ("running", 1, 0)


@pytest.mark.parametrize("on", [True, False])
def test_failures_in_a_row_put_the_output_into_the_opposite_state_and_back(on: bool) -> None:
    bench = bench_with(entry(), on=on)
    let_fail(bench)
    assert state(bench) == ("restarting", 2, 1)
    assert bench.values["OUT0"] == (not on)
    bench.wait(2.9)
    assert bench.values["OUT0"] == (not on)
    bench.wait(0.1)
    assert bench.values["OUT0"] == on
    assert state(bench) == ("waiting", 0, 1)


def test_pwm_output_can_be_restarted() -> None:
    bench = bench_with(entry(output="PWM3"))
    let_fail(bench)
    assert bench.values["PWM3"] == 1
    bench.wait(3)
    assert bench.values["PWM3"] == 0


def test_output_returns_to_its_old_state_after_a_restart() -> None:
    bench = bench_with(entry())
    let_fail(bench)
    bench.reverse("OUT0")
    bench.wait(3)
    assert bench.values["OUT0"] == 1


def test_watchdog_acts_also_while_outputs_are_locked() -> None:
    bench = bench_with(entry())
    bench.set(output_flags__lock=True)
    let_fail(bench)
    assert bench.values["OUT0"] == 0


def test_pings_begin_again_after_the_wait() -> None:
    bench = bench_with(entry())
    assert ping_times(bench, 70, answered=False) == [5, 15, 50, 60]


@pytest.mark.parametrize("email", [True, False])
def test_email_goes_out_when_the_entry_says_so(email: bool) -> None:
    bench = bench_with(WatchdogEntry(), entry(email=email))
    bench.wait(5 + 10 + 2)
    expected = [Notify("email", 1, True, "watchdog 2", "OUT0", 0)] if email else []
    assert [replace(sent, cause=None) for sent in bench.effects(Notify)] == expected


def test_watchdog_stops_after_the_allowed_number_of_restarts() -> None:
    bench = bench_with(entry(limit=2))
    bench.wait(1000)
    assert state(bench) == ("given up", 2, 2)
    assert (bench.due_in(), bench.values["OUT0"]) == (None, 1)
    assert bench.history()[-1] == f"watchdog 1: gives up on {HOST} after 2 restarts"


def test_success_does_not_reset_the_restarts() -> None:
    bench = bench_with(entry(limit=1))
    let_fail(bench)
    bench.wait(3 + 30)
    answer(bench)
    assert state(bench) == ("running", 0, 1)
    bench.wait(100)
    assert state(bench)[0] == "given up"


def test_limit_of_zero_never_gives_up() -> None:
    bench = bench_with(entry(limit=0))
    bench.wait(86400)
    assert state(bench)[2] > 1000


def test_entry_that_gave_up_restarts_when_it_is_enabled_again() -> None:
    bench = bench_with(entry(limit=1))
    bench.wait(1000)
    bench.set(watchdog__0__enabled=False)
    assert state(bench) == ("off", 0, 0)
    bench.set(watchdog__0__enabled=True)
    assert state(bench) == ("waiting", 0, 0)


def test_edited_entry_restarts_and_the_others_are_untouched() -> None:
    bench = bench_with(entry(), entry(host="other.example", output="OUT1"))
    bench.wait(5 + 2)
    bench.set(watchdog__0__interval=20)
    assert (state(bench), state(bench, 1)) == (("waiting", 0, 0), ("running", 1, 0))
    bench.wait(5)
    bench.effects()
    answer(bench)
    assert state(bench)[0] == "running"


@pytest.mark.parametrize("change", [{"enabled": False}, {"host": "x"}, {"output": "OUT1"}])
def test_edit_ends_a_restart_immediately(change: dict[str, object]) -> None:
    bench = bench_with(entry())
    let_fail(bench)
    assert bench.values["OUT0"] == 0
    bench.set(**{f"watchdog__0__{name}": value for name, value in change.items()})
    assert bench.values["OUT0"] == 1
    assert state(bench)[0] in ("off", "waiting")


def test_entries_ping_independently() -> None:
    bench = bench_with(entry(), entry(delay=1, interval=4, host="other.example", output="OUT1"))
    pinged = []
    for _ in range(12):
        bench.wait(1)
        for ping in bench.effects(PingHost):
            assert isinstance(ping, PingHost)
            pinged.append((bench.now - START_NOW, ping.entry))
            answer(bench, entry=ping.entry)
    assert pinged == [(1, 1), (5, 0), (5, 1), (9, 1)]


def test_entries_of_one_output_do_not_undo_each_others_restart() -> None:
    bench = bench_with(entry(), entry(host="other.example", wait=50))
    let_fail(bench)
    assert [e.state for e in bench.engine.watchdog.explain()[:2]] == ["restarting", "waiting"]
    assert bench.values["OUT0"] == 0
    bench.wait(3)
    assert bench.values["OUT0"] == 1
    bench.effects()
    bench.wait(30)
    assert bench.effects() == [PingHost(0, HOST, 2.0)]
    answer(bench)
    bench.wait(10)
    answer(bench)
    bench.effects()
    bench.wait(10)
    answer(bench)
    assert PingHost(1, "other.example", 2.0) in bench.effects()


def test_restart_of_another_entry_does_not_shorten_a_delay() -> None:
    bench = bench_with(entry(), entry(host="other.example", delay=1000))
    let_fail(bench)
    bench.wait(100)
    assert state(bench, 1) == ("waiting", 0, 0)


def test_timeout_longer_than_the_interval_delays_the_next_ping() -> None:
    bench = bench_with(entry(interval=1, timeout=4))
    assert ping_times(bench, 12, answered=False) == [5, 9]


@pytest.mark.parametrize("none_at_all", [{"interval": 0}, {"timeout": 0}, {"failures": 0}])
def test_times_and_limits_of_zero_count_as_one(none_at_all: dict[str, object]) -> None:
    bench = bench_with(entry(**none_at_all))
    bench.wait(3600)
    assert 1 < state(bench)[2] < 200


def test_restart_of_no_length_ends_immediately() -> None:
    bench = bench_with(entry(length=0))
    bench.wait(5 + 10 + 2)
    drives = [effect for effect in bench.effects() if isinstance(effect, DriveOutput)]
    assert drives == [DriveOutput(0, False), DriveOutput(0, True)]


def test_restart_of_the_controller_restarts_all_entries() -> None:
    bench = bench_with(entry())
    bench.wait(100)
    bench.restart()
    assert (state(bench), bench.due_in()) == (("waiting", 0, 0), 5)


def test_explanation_can_be_sent_as_json() -> None:
    bench = bench_with(entry())
    bench.wait(5)
    answer(bench, 12.5)
    explained = msgspec.json.decode(msgspec.json.encode(bench.engine.watchdog.explain()))
    assert explained[0] == {
        "state": "running",
        "last_answer": 12.5,
        "failures": 0,
        "restarts": 0,
    }


def test_journal_records_a_restart() -> None:
    bench = bench_with(entry())
    let_fail(bench)
    bench.wait(3)
    assert bench.history()[-3:] == [
        f"watchdog 1: {HOST} did not answer 2 times: OUT0 restarts for 3 s",
        "watchdog 1: OUT0 off",
        "watchdog 1: OUT0 on",
    ]


@given(
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from([None, 5.0, "silent"])), max_size=30),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_restart_always_ends_and_never_exceeds_the_limit(
    steps: list[tuple[int, float | str | None]], failures: int, limit: int
) -> None:
    bench = bench_with(entry(failures=failures, limit=limit))
    for seconds, outcome in steps:
        bench.wait(seconds)
        if not isinstance(outcome, str):
            answer(bench, outcome)
        explained = bench.engine.watchdog.explain()[0]
        assert bench.values["OUT0"] == (explained.state != "restarting")
        assert explained.failures <= failures
        assert not limit or explained.restarts <= limit
        assert (bench.due_in() is None) == (explained.state == "given up")


def test_change_seen_by_an_entry_is_announced() -> None:
    bench = bench_with(entry())
    versions = []
    for seconds in (5, 0, 10, 2):
        bench.wait(seconds)
        if seconds == 0:
            answer(bench)
        versions.append((state(bench), bench.engine.machine.version))
    assert [seen for (seen, _, _), _ in versions] == ["running"] * 4
    assert len({version for _, version in versions}) == 4
