"""Every stop says what is half done, and which command continues or reverts."""

import os
import shlex
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from leverframe.host.command_line.entry import carry_out
from leverframe.testing import Twin
from leverframe.units.client import open_paced_client
from tests.effort import some_of
from tests.units.plain_front import Fate, PlainFront, plain_front
from tests.units.unit_files import write_unit_file

pytestmark = pytest.mark.usefixtures("lift_pacing")

FILE = """
    [outputs.OUT0]
    name = "Pump"
    [rules]
    1 = "when DS1 >= 55, then OUT1 on"
    2 = "when DS2 >= 30, then OUT0 on"
"""


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(hw="3.9", sw="1.75") as twin:
        yield twin


@pytest.fixture(autouse=True)
def keys_interrupt() -> Iterator[None]:
    """Let SIGINT interrupt, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def front(twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlainFront]:
    """Serve a unit with two rules."""
    monkeypatch.chdir(tmp_path)
    impatient = partial(open_paced_client, retry_waits_s=())
    monkeypatch.setattr("leverframe.units.apply.open_paced_client", impatient)
    twin.reset()
    for place, rule in enumerate(("10*0*6000*0*0*1", "11*0*3000*0*0*0")):
        twin.command(f"/inpa.cgi?event={place}*{rule}*0*0*0*0*0*1")
        twin.command(f"/inpa.cgi?eventon={place}*1")
    write_unit_file(tmp_path, FILE)
    with plain_front(twin) as front:
        yield front


def run(*words: str) -> int:
    return carry_out(["unit", *words])


def commands_in(sentence: str) -> list[list[str]]:
    """Return the words of the commands that a sentence names."""
    return [shlex.split(part)[1:] for part in sentence.split("`")[1::2]]


def references(twin: Twin) -> list[float]:
    return [rule["reference"] for rule in twin.settings["rules"]]


def is_on(twin: Twin) -> list[bool]:
    return [rule["enabled"] for rule in twin.settings["rules"]]


@pytest.mark.parametrize(("way", "expected"), some_of([(0, [55.0, 30.0]), (1, [60.0, 30.0])]))
def test_refused_step_says_which_rule_is_off_and_both_commands_work(
    front: PlainFront, twin: Twin, capsys: pytest.CaptureFixture[str], way: int, expected: object
) -> None:
    front.fate = lambda _, target: 503 if "event=0" in target else None
    assert run("apply", "unit.toml", front.url, "--yes") == 2
    said = capsys.readouterr().err
    assert "Rule 1 is off now: when DS1 >= 60, then OUT1 on. Continue with `" in said
    assert "may be" not in said
    front.fate = lambda *_: None
    commands = commands_in(said)
    (journal,) = Path("unit-journal").glob("*.jsonl")
    assert commands == [
        ["unit", "apply", "--resume", "--journal", "unit-journal"],
        ["unit", "rollback", str(journal)],
    ]
    assert carry_out([*commands[way], "--yes"]) == 0
    assert (references(twin), is_on(twin)) == (expected, [True, True])


def test_lost_unit_says_which_rule_may_be_off(
    front: PlainFront, twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    def fate(_: int, target: str) -> Fate:
        lost.append(target) if "eventon=0*0" in target else None
        return "dropped" if lost else None

    lost: list[str] = []
    front.fate = fate
    assert run("apply", "unit.toml", front.url, "--yes") == 2
    said = capsys.readouterr().err
    assert "Rule 1 may be off: when DS1 >= 60, then OUT1 on." in said
    assert "Step 2 may or may not have been carried out." in said
    front.fate = lambda *_: None
    assert carry_out([*commands_in(said)[0], "--yes"]) == 0
    assert (references(twin), is_on(twin)) == ([55.0, 30.0], [True, True])


def test_interruption_ends_with_a_sentence_and_its_own_status(
    front: PlainFront, twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    def fate(_: int, target: str) -> Fate:
        if "event=0" in target:
            os.kill(os.getpid(), signal.SIGINT)
            interrupted.wait(0.2)
        return None

    interrupted = threading.Event()
    front.fate = fate
    assert run("apply", "unit.toml", front.url, "--yes") == 130
    shown = capsys.readouterr()
    assert "interrupted. Rule 1 is off now: when DS1 >= 60, then OUT1 on." in shown.err
    assert "Step 3 may or may not have been carried out." in shown.err
    assert "Traceback" not in shown.err
    front.fate = lambda *_: None
    assert carry_out([*commands_in(shown.err)[0], "--yes"]) == 0
    assert (references(twin), is_on(twin)) == ([55.0, 30.0], [True, True])


def test_interruption_before_anything_is_sent_says_so(
    front: PlainFront, twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> Fate:
        os.kill(os.getpid(), signal.SIGINT)
        return "dropped"

    front.fate = interrupt
    assert run("apply", "unit.toml", front.url, "--yes") == 130
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (
        "",
        "leverframe: Interrupted. Nothing was sent to any unit.\n",
    )


def test_unit_that_is_lost_before_the_first_step_says_that_nothing_was_sent(
    front: PlainFront, twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "unit.toml", front.url, "--out", "plan.json") == 0
    front.fate = lambda *_: "dropped"
    assert run("apply", "plan.json", "--yes") == 2
    assert "Nothing was sent to it." in capsys.readouterr().err
    front.fate = lambda *_: None
    assert run("apply", "plan.json", "--yes") == 0
    assert references(twin) == [55.0, 30.0]
