"""`leverframe what-if`: the futures of a controller that is stopped, with and without commands."""

import asyncio
import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule
from leverframe.interface.table.rules import event_query
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes

START = 1767571200.0
RULE = {
    "rules.0.source": "DS1",
    "rules.0.compare": ">=",
    "rules.0.reference": 30.0,
    "rules.0.action": "OUT1",
    "rules.0.value": 1,
    "rules.0.enabled": True,
}


def fill(folder: Path, *, history: bool = True) -> Path:
    """A data folder of a controller with a rule and a day of readings."""
    folder.mkdir(mode=0o700)

    async def write() -> None:
        store = EncryptingStore(SqliteStore(folder / "store.db"), folder / "secrets.key")
        await store.commit(Changes(settings=RULE))
        await store.close()

    asyncio.run(write())
    if history:
        with closing(ChunkStore(folder / "history.db", Bounds().max_bytes)) as chunk_store:
            compactor = Compactor(chunk_store, Bounds())
            course = [(START, 20.0), (START + 40_000, 31.0), (START + 50_000, 20.0)]
            compactor.add([(at, "DS1", value) for at, value in course])
            compactor.add([(START + 86_400, "OUT0", 0)])
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "data")


@pytest.fixture
def change(tmp_path: Path) -> Path:
    path = tmp_path / "change.txt"
    path.write_text("# one relay more\n/outs.cgi?ortime=0600\n/outs.cgi?out0=1\n", "utf-8")
    return path


def run(folder: Path, *arguments: object) -> int:
    return main(["what-if", "--data", str(folder), *map(str, arguments)])


def test_differences_are_printed_and_set_the_exit_status(
    folder: Path, change: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "--commands", change, "--for", "24h") == 1
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].startswith("+ Tue 06 Jan 00:00:00  OUT0 on")
    assert lines[1].startswith("+ Tue 06 Jan 00:10:00  OUT0 off")
    assert "2 entries differ, 2 are equal." in out
    row = next(line for line in lines if "OUT1" in line)
    assert row.count("2h46m40s") == 2


def test_recorded_readings_come_again(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off = tmp_path / "off.txt"
    off.write_text("/inpa.cgi?eventon=0*0\n", "utf-8")
    assert run(folder, "--commands", off, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert [entry["only"] for entry in found["differing"] if "OUT1" in entry["text"]] == [
        "without",
        "without",
    ]
    assert (found["without"]["OUT1"]["on_s"], found["with"]["OUT1"]["on_s"]) == (10_000, 0)


def test_change_without_consequences_is_reported_as_such(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = tmp_path / "name.txt"
    name.write_text("/stm.cgi?oname=0Pump\n", "utf-8")
    assert run(folder, "--commands", name) == 0
    assert "0 entries differ" in capsys.readouterr().out


def test_plants_of_a_scenario_give_their_readings(
    folder: Path, change: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "room.toml"
    scenario.write_text(
        '[[plants]]\nkind = "room"\nheater = "OUT0"\nreading = "DS1"\noutside = 20\n'
        'power = 60\ntime_constant = "5m"\n',
        "utf-8",
    )
    assert run(folder, "--commands", change, "--plants", scenario, "--json", "--for", "2h") == 1
    found = json.loads(capsys.readouterr().out)
    assert any(
        entry["only"] == "with" and entry["text"] == "OUT1 on" for entry in found["differing"]
    )


TWO_ROOMS = """
start = 2026-03-20T00:00:00
commands = ["%s"]

[[plants]]
kind = "room"
heater = "OUT0"
reading = "DS1"
outside = %s
power = 20
time_constant = "30m"

[[plants]]
kind = "room"
heater = "OUT5"
reading = "DS2"
outside = 10
power = 0
time_constant = "1h"
"""


def command_for(rule: Rule) -> str:
    return f"/inpa.cgi?{event_query(1, rule, Profile())}&eventon=1*1"


HEAT = command_for(
    Rule(source="DS1", compare="<", reference=18, hysteresis=1, action="OUT0", value=1)
)


@pytest.mark.parametrize("outside", ["10", '"DS2"'])
def test_entries_on_plants_are_those_of_a_simulation_of_the_same_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], outside: str
) -> None:
    scenario, change = tmp_path / "rooms.toml", tmp_path / "heat.txt"
    scenario.write_text(TWO_ROOMS % (HEAT, outside), "utf-8")
    change.write_text(HEAT, "utf-8")
    assert main(["simulate", str(scenario), "--for", "2h"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if " OUT0 o" in line]
    folder = fill(tmp_path / "data", history=False)
    options = ("--commands", change, "--plants", scenario, "--for", "2h", "--json")
    assert run(folder, *options) == 1
    found = json.loads(capsys.readouterr().out)
    entries = [one for one in found["differing"] if one["text"].startswith("OUT0 ")]
    times = [timedelta(seconds=int(one["time"] - found["first"])) for one in entries]
    assert [f"0{time}" for time in times] == [time for time, *_ in lines]
    assert len(entries) > 5


def test_plants_follow_readings_that_were_recorded(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, change = tmp_path / "room.toml", tmp_path / "cool.txt"
    scenario.write_text(
        '[[plants]]\nkind = "room"\nheater = "OUT0"\nreading = "DS2"\noutside = "DS1"\n'
        'power = 0\ntime_constant = "1m"\n',
        "utf-8",
    )
    warm = Rule(source="DS2", compare=">=", reference=30, action="OUT0", value=1)
    change.write_text(command_for(warm), "utf-8")
    assert run(folder, "--commands", change, "--plants", scenario, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["with"]["OUT0"]["changes"] == 2
    assert 9_000 < found["with"]["OUT0"]["on_s"] < 11_000


def test_folder_without_history_has_no_readings(
    tmp_path: Path, change: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fill(tmp_path / "new", history=False), "--commands", change) == 1
    assert "2 entries differ" in capsys.readouterr().out


def test_empty_history_has_no_readings(
    tmp_path: Path, change: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fill(tmp_path / "new", history=False)
    ChunkStore(folder / "history.db", Bounds().max_bytes).close()
    assert run(folder, "--commands", change) == 1
    assert "2 entries differ" in capsys.readouterr().out


def test_more_than_can_be_listed_is_counted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blink = tmp_path / "blink.txt"
    blink.write_text("/outs.cgi?atout=0*1&atout=6*1&aout=01\n", "utf-8")
    assert run(folder, "--commands", blink, "--for", "1h") == 1
    assert "more" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"/outs.cgi?out0=7\n", "Line 1"),
        (b"hello\n", "Line 1 is not a command"),
        (b"\xff\xfe\n", "is not UTF-8 text"),
        (None, "cannot be read"),
    ],
)
def test_impossible_trial_is_reported_in_one_line(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: bytes | None,
    sentence: str,
) -> None:
    file = tmp_path / "commands.txt"
    if text is not None:
        file.write_bytes(text)
    assert run(folder, "--commands", file) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line
