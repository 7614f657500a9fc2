"""Reading scenarios: what they mean, and what is said about mistakes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.host.scenario import BadScenario, Scenario, read_scenario, request_parts
from leverframe.host.simulate import Simulation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def write_scenario(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str) -> Scenario:
    return read_scenario(write_scenario(folder, text))


def mistake(folder: Path, text: str) -> str:
    with pytest.raises(BadScenario) as caught:
        read(folder, text)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{folder}/")


def wall(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_empty_scenario_is_an_untouched_controller(folder: Path) -> None:
    scenario = read(folder, "")
    assert (scenario.profile, scenario.start) == (Profile(), wall("2026-01-05"))
    assert [happening.after_s for happening in scenario.happenings] == [0]
    assert (scenario.plants, scenario.record) == ((), ())


def test_start_is_local_time(folder: Path) -> None:
    scenario = read(folder, 'start = 2026-06-01T05:00:00\ntimezone = "Europe/Warsaw"')
    assert scenario.start == wall("2026-06-01 03:00")


def test_profile_and_labels_are_taken(folder: Path) -> None:
    scenario = read(folder, 'profile = {hw = "3.0", sw = "1.58a"}\nrecord = ["DS1", "PWM0.duty"]')
    assert scenario.profile == Profile("3.0", "1.58a")
    assert scenario.record == ("DS1", "PWM0.duty")


@pytest.mark.parametrize(
    ("time", "after_s"),
    [
        ('"06:00"', 3600),
        ('"6:00:30"', 3630),
        ("06:00:00", 3600),
        # It is past 4 o'clock: that means tomorrow.
        ('"04:00"', 23 * 3600),
        ('"05:00"', 0),
        ('"+90s"', 90),
        ('"90"', 90),
        ('"2d 3h"', 183600),
        ("2026-06-02T05:00:00", 86400),
        ('"2026-06-01 05:00:01"', 1),
    ],
)
def test_times_are_of_day_or_from_the_start_or_dates(
    folder: Path, time: str, after_s: float
) -> None:
    scenario = read(folder, f"start = 2026-06-01T05:00:00\n[[at]]\ntime = {time}")
    assert scenario.happenings[1].after_s == after_s


def test_time_of_day_counts_the_hour_that_the_clock_repeats(folder: Path) -> None:
    text = 'start = 2026-10-24T12:00:00\ntimezone = "Europe/Warsaw"\n[[at]]\ntime = "11:00"'
    assert read(folder, text).happenings[1].after_s == 24 * 3600


def test_happenings_come_in_order_of_time_and_of_the_file(folder: Path) -> None:
    times = ["+2h", "+1h", "+2h"]
    text = "".join(f'[[at]]\ntime = "{time}"\nsim = "DS1={n}"\n' for n, time in enumerate(times))
    scenario = read(folder, text)
    assert [happening.sim and happening.sim.text for happening in scenario.happenings] == [
        None,
        "DS1=1",
        "DS1=0",
        "DS1=2",
    ]


def test_body_stands_behind_a_space(folder: Path) -> None:
    scenario = read(folder, 'commands = ["/post.cgi?sched_save &s0=a*0*1*5*0*127*1&&"]')
    (order,) = scenario.happenings[0].commands
    assert request_parts(order) == ("/post.cgi", "sched_save", b"&s0=a*0*1*5*0*127*1&&")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = [", "run.toml, line 1 is not valid TOML: Invalid value (at end of document)."),
        ("\n\nx = 1", "run.toml, line 3: Unknown key x; known keys: start, timezone, profile,"),
        ("\nstart = 5", "line 2: start must be a local date and time such as 2026-06-01T05:00:00"),
        ("start = 2026-06-01T05:00:00Z", "line 1: start must be a local date and time"),
        ('timezone = "Mars/Base"', "line 1: Unknown timezone 'Mars/Base'; use a name"),
        ('timezone = "Europe"', "line 1: Unknown timezone 'Europe'"),
        ('profile = "new"', 'line 1: profile must look like { hw = "3.9", sw = "1.75" }'),
        ('[profile]\nhw = "4.0"', "line 1: Unknown hardware '4.0'. Choose one of 3.0"),
        ('[profile]\nos = "x"', "line 2: Unknown key os; known keys: hw, sw"),
        ('record = ["DS1",\n"DS9"]', "line 2: 'DS9' cannot be recorded; allowed are labels"),
        ('record = "DS1"', 'line 1: record must be a list of strings: record = ["...", "..."]'),
        ("sim = 5", 'line 1: sim must be a string such as "DS1=21.5&INPD1=0"'),
        ("at = 5", "line 1: at must be written as [[at]] tables"),
        ('commands = [\n"/outs.cgi?out0=1",\n"/outs.cgi?out9=1"]', "line 3: "),
        ('commands = ["/nothing?x=1"]', "line 1: '/nothing?x=1' is not a command; write it like"),
        ('commands = ["/outs.cgi?fly=1"]', "line 1: /outs.cgi has no command 'fly'"),
        ('commands = ["/post.cgi?sched_save nonsense"]', "line 1: The body is not a list of"),
        ('[[at]]\nsim = "DS1=5"', "line 1: the time is missing; write a time of day like 06:00"),
        ('[[at]]\nsim = "x"\ntime = "noon"', "line 3: 'noon' is not a time of the run"),
        ('[[at]]\ntime = "25:00"', "line 2: '25:00' is not a time of the run"),
        ("[[at]]\ntime = 5", "line 2: 5 is not a time of the run"),
        ("[[at]]\ntime = 2020-01-01T00:00:00", "line 2: 2020-01-01 00:00:00 is before the start"),
        ('[[at]]\ntime = "+1s"\ndo = "x"', "line 3: Unknown key do; known keys: time, sim"),
        ("[[plants]]\nx = 1", "line 1: There is no plant ''. Allowed: room, tank, load, meter."),
        ('[[plants]]\nkind = "sun"', "line 2: There is no plant 'sun'. Allowed: room, tank"),
        (
            '[[plants]]\nkind = "load"\nswitch = "OUT0"\nreading = "DS1"\non = 1',
            "line 4: reading: 'DS1' is not valid. Allowed: INPA1, INPA2",
        ),
        (
            '[[plants]]\nkind = "load"\nswitch = "OUT0"\nreading = "m1"',
            "line 1: A load needs on: reading with power. Allowed: -1000000000 to 1000000000",
        ),
    ],
)
def test_mistake_is_named_with_its_line_and_what_is_allowed(
    folder: Path, text: str, says: str
) -> None:
    assert says in mistake(folder, text)


def test_command_of_another_version_is_refused_before_the_run(folder: Path) -> None:
    text = 'profile = {hw = "3.0", sw = "1.20"}\ncommands = ["/outs.cgi?roafs=01"]'
    assert "line 2: HW 3.0 SW 1.20 does not have" in mistake(folder, text)


def test_file_that_is_not_there_is_one_sentence(folder: Path) -> None:
    with pytest.raises(BadScenario, match="cannot be read: No such file or directory"):
        read_scenario(folder / "none.toml")


@pytest.mark.parametrize(
    ("sim", "says"),
    [
        ("DS9=1", "line 3: Field DS9: The simulated board has no 'DS9'."),
        ("DS1=warm", "line 3: Field DS1: 'warm' is not a number."),
        ("advance=5", "line 3: advance and until are not allowed in scenarios"),
        ("plant=sun", "line 3: Field plant: There is no plant 'sun'."),
    ],
)
async def test_inputs_that_the_board_lacks_are_refused_before_the_run(
    folder: Path, sim: str, says: str
) -> None:
    scenario = read(folder, f'[[at]]\ntime = "+1h"\nsim = "{sim}"')
    with pytest.raises(BadScenario) as caught:
        await Simulation.start(scenario)
    assert says in str(caught.value)
