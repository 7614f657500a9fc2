"""Simulated runs: what happens when, and what is printed and recorded."""

import csv
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from leverframe.__main__ import main
from leverframe.host.scenario import BadScenario, read_scenario
from leverframe.host.simulate import Simulation
from leverframe.host.simulation_report import Summary, Timeline

LAMP = """\
start = 2026-06-01T00:00:00
record = ["OUT0", "DS1"]
commands = ["/outs.cgi?ortime=0600"]

[[at]]
time = "06:00"
sim = "DS1=12.5"
commands = ["/outs.cgi?out0=1"]

[[at]]
time = "+6h 5m"
sim = "DS1=none"
"""


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    path = tmp_path / "lamp.toml"
    path.write_text(LAMP, encoding="utf-8")
    return path


async def start_simulation(path: Path) -> Simulation:
    return await Simulation.start(read_scenario(path))


def timeline(simulation: Simulation, printed: StringIO) -> Timeline:
    console = Console(file=printed, width=200)
    return Timeline(simulation.controller, simulation.scenario.timezone, console)


class Steps:
    """A watcher that notes when it was called."""

    def __init__(self) -> None:
        self.looks: list[float] = []
        self.steps: list[float] = []

    def observe(self, elapsed_s: float) -> None:
        self.looks.append(elapsed_s)

    def step(self, elapsed_s: float) -> None:
        self.steps.append(elapsed_s)


async def test_everything_happens_at_its_time(lamp: Path) -> None:
    simulation = await start_simulation(lamp)
    await simulation.run(86400.0)
    driven = [(item.now, item.value) for item in simulation.board.history if item.what == "OUT0"]
    assert driven == [(0, 0), (6 * 3600, 1), (6 * 3600 + 600, 0)]
    assert simulation.controller.clock.read().now == 86400


async def test_events_after_the_end_do_not_happen(lamp: Path) -> None:
    simulation = await start_simulation(lamp)
    await simulation.run(6 * 3600 - 1.0)
    assert simulation.controller.engine.values["DS1"] is None
    assert simulation.controller.engine.values["OUT0"] == 0


async def test_watchers_look_after_every_deadline_and_at_every_step(lamp: Path) -> None:
    simulation = await start_simulation(lamp)
    watcher = Steps()
    await simulation.run(7 * 3600.0, [watcher], step_s=3600.0)
    assert watcher.steps == [hour * 3600 for hour in range(8)]
    assert {6 * 3600, 6 * 3600 + 300, 6 * 3600 + 600} <= set(watcher.looks)


async def test_same_scenario_gives_the_same_run(lamp: Path) -> None:
    histories = []
    for _ in range(2):
        simulation = await start_simulation(lamp)
        await simulation.run(86400.0)
        histories.append(list(simulation.board.history))
    assert histories[0] == histories[1]


async def test_command_that_is_refused_in_the_run_ends_it_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "locked.toml"
    path.write_text(
        'commands = ["/stm.cgi?outblock=1"]\n[[at]]\ntime = "+1h"\n'
        'commands = ["/stm.cgi?oname=0x",\n"/outs.cgi?out0=1"]'
    )
    simulation = await start_simulation(path)
    with pytest.raises(BadScenario, match="line 5: OUT0 cannot be switched from outside"):
        await simulation.run(7200.0)
    assert simulation.controller.clock.read().now == 3600


async def test_scenario_that_sets_up_accounts_keeps_all_rights(tmp_path: Path) -> None:
    path = tmp_path / "accounts.toml"
    accounts = "YWRtaW4=*bG9uZyBhbmQgc2VjcmV0*dXNlcg==*bG9uZyBhbmQga25vd24="
    path.write_text(
        f'commands = ["/stm.cgi?auth=11{accounts}"]\n'
        '[[at]]\ntime = "+1s"\ncommands = ["/stm.cgi?oname=0Lamp", "/outs.cgi?out0=1"]'
    )
    simulation = await start_simulation(path)
    await simulation.run(10.0)
    assert simulation.controller.engine.settings.access.required
    assert simulation.board.outputs[0]


async def test_timeline_says_when_what_and_why(lamp: Path) -> None:
    simulation = await start_simulation(lamp)
    printed = StringIO()
    await simulation.run(86400.0, [timeline(simulation, printed)])
    lines = [line.split() for line in printed.getvalue().splitlines()]
    assert lines[0] == ["Mon", "01", "Jun", "2026"]
    assert lines[-4:] == [
        ["06:00:00", "DS1=12.5", "scenario", "line", "7"],
        ["06:00:00", "OUT0", "on", "command", "scenario"],
        ["06:05:00", "DS1=none", "scenario", "line", "12"],
        ["06:10:00", "OUT0", "off", "timer", "return", "time"],
    ]


async def test_messages_are_in_the_timeline(tmp_path: Path) -> None:
    path = tmp_path / "mail.toml"
    # DS1 from 30.0 on sends eMail 2.
    path.write_text(
        'commands = ["/inpa.cgi?event=0*10*0*3000*0*0*29*0*0*0*0*0&eventon=0*1"]\n'
        '[[at]]\ntime = "+1h"\nsim = "DS1=31"'
    )
    simulation = await start_simulation(path)
    printed = StringIO()
    await simulation.run(7200.0, [timeline(simulation, printed)])
    assert "01:00:00  sends email 2 (begins, DS1 is 31.0)" in printed.getvalue()


async def test_summary_counts_changes_time_and_means(lamp: Path) -> None:
    simulation = await start_simulation(lamp)
    summary = Summary(simulation.controller, ("DS1", "OUT0"))
    await simulation.run(86400.0, [summary])
    lamp_track, sensor = summary.track("OUT0"), summary.track("DS1")
    assert (lamp_track.changes, lamp_track.seconds) == (2, 600)
    assert lamp_track.mean == pytest.approx(600 / 86400)
    assert (sensor.low, sensor.high, sensor.mean, sensor.value) == (12.5, 12.5, 12.5, None)


# --- the command ----------------------------------------------------------------------------------


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_values_are_recorded_when_they_change(lamp: Path, tmp_path: Path) -> None:
    target = tmp_path / "lamp.csv"
    assert main(["simulate", str(lamp), "--for", "24h", "--csv", str(target)]) == 0
    assert rows(target) == [
        ["time", "seconds", "OUT0", "DS1"],
        ["2026-06-01T00:00:00+00:00", "0", "0", ""],
        ["2026-06-01T06:00:00+00:00", "21600", "1", "12.5"],
        ["2026-06-01T06:05:00+00:00", "21900", "1", ""],
        ["2026-06-01T06:10:00+00:00", "22200", "0", ""],
    ]


def test_values_are_recorded_at_every_step(lamp: Path, tmp_path: Path) -> None:
    target = tmp_path / "lamp.csv"
    arguments = ["simulate", str(lamp), "--for", "7h", "--step", "1h", "--csv", str(target)]
    assert main(arguments) == 0
    assert [(row[1], row[2]) for row in rows(target)[1:]] == [
        (str(hour * 3600), "1" if hour == 6 else "0") for hour in range(8)
    ]


def test_without_labels_those_of_the_plants_are_recorded(tmp_path: Path) -> None:
    path, target = tmp_path / "load.toml", tmp_path / "load.csv"
    path.write_text('[[plants]]\nkind = "load"\nswitch = "OUT3"\nreading = "m2"\non = 5')
    assert main(["simulate", str(path), "--for", "1h", "--csv", str(target)]) == 0
    assert rows(target)[0] == ["time", "seconds", "OUT3", "m2"]


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["simulate", *arguments]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    return errors


def test_bad_scenario_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("nonsense = 1")
    beginning = f"leverframe: {path}, line 1: Unknown key nonsens"
    assert complaint(capsys, str(path)).startswith(beginning)


def test_csv_file_that_cannot_be_written_is_one_line(
    lamp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = complaint(capsys, str(lamp), "--csv", str(lamp / "x.csv"))
    assert words == f"leverframe: {lamp}/x.csv cannot be written: Not a directory.\n"


def test_recording_nothing_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nothing.toml"
    path.write_text("")
    assert "names nothing to record" in complaint(capsys, str(path), "--csv", "x.csv")


@pytest.mark.parametrize("option", ["--for", "--step"])
@pytest.mark.parametrize("text", ["soon", "-5s", "1h30"])
def test_bad_duration_on_the_command_line_is_a_usage_mistake(
    lamp: Path, option: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", str(lamp), f"{option}={text}"])
    assert ended.value.code == 2
    assert "write it like 90s, 1h30m, 24h or 7d" in capsys.readouterr().err


def test_step_of_no_time_is_a_usage_mistake(lamp: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", str(lamp), "--step", "0s"])
    assert ended.value.code == 2


def test_same_output_is_printed_every_time(lamp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        assert main(["simulate", str(lamp), "--for", "1d"]) == 0
        printed = capsys.readouterr()
        outputs.append(printed.out)
        assert re.fullmatch(r"1d of lamp.toml took [0-9.]+ s\n", printed.err)
    assert outputs[0] == outputs[1]
    assert "OUT0 on" in outputs[0]
    assert "10m" in outputs[0]


async def test_scenario_has_faults(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(
        'sim = "DS1=20"\n[[at]]\ntime = "+1h"\nsim = "fault=sensor_absent*label:DS1*for:1h"\n',
        encoding="utf-8",
    )
    simulation = await start_simulation(path)
    await simulation.run(2 * 3600 - 1)
    assert simulation.controller.engine.values["DS1"] is None
    entries = simulation.controller.engine.machine.journal.entries()
    assert "DS1 reads absent instead of 20.0" in [entry.text for entry in entries]


def test_scenario_with_an_unknown_fault_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.toml"
    path.write_text('sim = "fault=melted"\n', encoding="utf-8")
    assert main(["simulate", str(path)]) != 0
    assert "slow, drip, refuse" in capsys.readouterr().err
