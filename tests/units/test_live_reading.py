"""One reading of a unit: what it shows, or a reason; whatever it answers."""

from typing import Any

import msgspec
import pytest

from leverframe.testing import LoopTwin
from leverframe.units.client import PacedClient, UnitAnswer, UnusableAnswer
from leverframe.units.live_values import ALL, PERIODIC, STATE, LiveReader, LiveReading
from tests.cases import for_each

JSON = "application/json"


class AnsweringClient(PacedClient):
    """Gives the answers of a twin, some of them changed."""

    login = None

    def __init__(self, twin: LoopTwin, changes: dict[str, Any]) -> None:
        self._twin = twin
        self._changes = changes

    async def read(self, target: str) -> UnitAnswer:
        content = await self._twin.json(target)
        change = self._changes.get(target, {})
        if not isinstance(change, dict):
            return UnitAnswer(200, JSON, msgspec.json.encode(change))
        content = {key: value for key, value in {**content, **change}.items() if value != "gone"}
        return UnitAnswer(200, JSON, msgspec.json.encode(content))


async def look(**changes: Any) -> LiveReading:
    paths = {"all": ALL, "state": STATE, "periodic": PERIODIC}
    async with await LoopTwin.start() as twin:
        named = {paths[name]: change for name, change in changes.items()}
        return await LiveReader(AnsweringClient(twin, named)).look()


@for_each("value", ["21.5", True, [1], {"a": 1}])
async def test_state_of_the_wrong_type_is_no_value(value: Any) -> None:
    reading = await look(state={"DS1": value, "OUT0": 2, "DS2": "gone"})
    assert {"DS1", "OUT0", "DS2"} <= reading.unreadable.keys()
    assert not {"DS1", "OUT0", "DS2"} & reading.values.keys()
    assert reading.unreadable["DS2"] == "is missing"


@for_each("uptime", [None, "5", True, "gone"])
async def test_state_without_uptime_is_none_of_a_unit(uptime: Any) -> None:
    with pytest.raises(UnusableAnswer, match="uptime"):
        await look(state={"uptime": uptime})


@for_each("answer", [[], "text", 5, None])
async def test_json_that_is_no_object_is_none_of_a_unit(answer: Any) -> None:
    with pytest.raises(UnusableAnswer):
        await look(all=answer)


async def test_state_that_is_none_is_read_from_the_files() -> None:
    reading = await look(state={"profile": "gone"})
    assert reading.values["OUT0"] == 0
    assert not reading.is_virtual


async def test_control_characters_of_a_name_are_escaped() -> None:
    reading = await look(all={"sname": "a\x1b[31m"}, state={"troubles": "none"})
    assert reading.name == r"a\u001b[31m"
    assert reading.findings == []


def finding(**changes: Any) -> dict[str, Any]:
    sound = {"id": "pid_output_off.PWM1", "kind": "pid_output_off", "severity": "attention"}
    rest = {"text": "It is off.", "label": "PWM1", "figures": {}, "page": "pid", "since": 1.0}
    return {**sound, **rest, **changes}


async def test_findings_of_a_unit_are_read_worst_first_and_can_do_nothing() -> None:
    hostile = finding(
        id="x\x1b[2J",
        severity="fault",
        text="\x07" + "y" * 5000,
        label="<b>",
        figures={"rule": "a\u202eb", **{f"f{number}": number for number in range(1000)}},
        page="//elsewhere.example/",
    )
    reading = await look(state={"findings": [finding(), hostile]})
    assert reading.unreadable.get("its list of findings") is None
    first, second = reading.findings or ()
    assert (first.id, first.label, first.page) == (r"x\u001b[2J", None, "")
    assert first.text.isprintable()
    assert len(first.text) < 400
    assert first.figures["rule"] == r"a\u202eb"
    assert len(first.figures) < 50
    assert (second.label, second.page) == ("PWM1", "pid")


@for_each(
    "findings",
    [{}, 5, [5], [finding(severity="grave")], [finding(text=None)], [finding()] * 1_000],
)
async def test_findings_that_cannot_be_read_are_reported(findings: Any) -> None:
    reading = await look(state={"findings": findings})
    assert "its list of findings" in reading.unreadable
    assert len(reading.findings or ()) <= 250


async def test_controller_without_findings_reports_the_parts_in_trouble() -> None:
    reading = await look(state={"findings": "gone", "troubles": {"store": "The disk\x1b is full."}})
    (found,) = reading.findings or ()
    assert (found.severity, found.text) == ("fault", r"store: The disk\u001b is full.")
