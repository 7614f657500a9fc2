"""Calls that cannot be meant: each is an error that lists what is allowed."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import leverframe.testing
from leverframe.core.errors import ErrorForPeople
from leverframe.testing import (
    AnyTwin,
    BadCall,
    BadDuration,
    BadFault,
    BadFleet,
    BadMoment,
    Fleet,
    NodeTwin,
    ProcessTwin,
    Twin,
    TwinRefused,
    TwinSnapshot,
    faults,
)
from leverframe.testing.member_twin import MemberTwin

FOREIGN = TwinSnapshot("1", str.encode, "http://elsewhere")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda twin: twin.raw(ds11="1"), "raw: key 'ds11' is unknown. Did you mean 'ds1'"),
        (lambda twin: twin.fault(faults.raw("dsl", "1")), "raw: key 'dsl' is unknown.*Allowed: ds"),
        (lambda twin: twin.sense(advance=60), "label 'advance' is unknown.*Allowed: .*DS1"),
        (lambda twin: twin.sense({1: 2}), "label 1 is unknown.*Allowed: "),
        (lambda twin: twin.sense([("DS1", 1)]), "readings by label"),
        (lambda twin: twin.unplug(["DS1"]), "unplug accepts strings such as 'DS1'"),
        (lambda twin: twin.requests("json/all.json"), "is not a path; write one like"),
        (lambda twin: twin.requests("/outs.cgi?out0=1"), "part after a question mark is the query"),
        (lambda twin: twin.requests("/json/al.json"), "Did you mean '/json/all.json'.*Allowed: "),
        (lambda twin: twin.requests("/jsn/"), "Path '/jsn/' is unknown"),
        (lambda twin: twin.requests(5), "5 is not a path"),
        (lambda twin: twin.requests("/outs.cgi", query=5), "query must be a string or a mapping"),
        (lambda twin: twin.requests(method="FETCH"), "Method 'FETCH' is unknown.*Allowed: .*PATCH"),
        (lambda twin: twin.assert_requested("/outs.cgi", times="1"), "times must be a number"),
        (
            lambda twin: twin.fault(faults.status(), path="/json/al.json"),
            "fault: path '/json/al.json' is unknown. Did you mean '/json/all.json'",
        ),
        (lambda twin: twin.fault("slow"), "not 'slow'. Allowed: absent, .*slow"),
        (lambda twin: twin.fault(faults.refuse), "accepts a fault such as faults.slow"),
        (lambda twin: twin.command("outs.cgi?out0=1", 5), "command accepts strings.*not 5"),
        (lambda twin: twin.command(["outs.cgi?out0=1"]), "command accepts strings"),
        (lambda twin: twin.command(""), "command accepts strings"),
        (lambda twin: twin.get(None), "get accepts strings"),
        (lambda twin: twin.sim(5), "sim accepts strings"),
        (
            lambda twin: twin.until(5),
            "until accepts a condition such as 'DS1 >= 30', or a function",
        ),
        (lambda twin: twin.rule(5, "OUT0"), "rule accepts strings such as 'DS1 >= 30'"),
        (
            lambda twin: twin.rule("DS1 >= 30", "OUT0", hysteresis="1"),
            "hysteresis must be a number",
        ),
        (lambda twin: twin.get("/outs.cgi", auth="keeper"), "auth must be a name and a password"),
        (lambda twin: Fleet(2, modbsu=True), "Fleet: parameter 'modbsu' is unknown. Did you mean"),
        (lambda twin: twin.restore({}), "accepts a TwinSnapshot.*not a dict"),
        (lambda twin: twin.restore(FOREIGN), "is stored by http://elsewhere"),
    ],
)
def test_misuse_is_an_error_that_says_what_is_allowed(
    call: Callable[[Any], object], sentence: str, twin: Twin
) -> None:
    with pytest.raises(BadCall, match=sentence):
        call(twin)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"modbus": 5020},
            "modbus must be True or False, not 5020; the port is then in twin.modbus",
        ),
        ({"snmp": 1}, "snmp must be True or False"),
        ({"tls": "yes"}, "tls must be True or False"),
        ({"lenient": None}, "lenient must be True or False"),
        ({"hw": 3.5}, "hw must be a string such as '3.5', not 3.5"),
        ({"mqtt": 1883}, "mqtt must be a string such as '1883'"),
        ({"seed": "x"}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"recorded": 5}, "recorded must be the name of a file"),
        ({"settings": {5: 1}}, "settings accepts strings such as 'outputs.0.name', not 5"),
        ({"accounts": ["keeper"]}, "accounts must map names to passwords"),
    ],
)
@pytest.mark.parametrize("kind", [Twin, ProcessTwin])
def test_twin_cannot_be_made_of_the_wrong_type(
    kind: Any, parameters: dict[str, Any], sentence: str
) -> None:
    if kind is ProcessTwin and "mqtt" in parameters:
        kind = Twin.process
        sentence = "Twin.process: parameter 'mqtt' is unknown.*Allowed: .*modbus"
    with pytest.raises(BadCall, match=sentence):
        kind(**parameters)


def test_times_are_durations_and_moments(twin: Twin) -> None:
    for duration in (None, True, [1]):
        with pytest.raises(BadDuration, match="is not a duration; write it like 90s"):
            twin.advance(duration)  # type: ignore[arg-type]
    for moment in (None, True, [1]):
        with pytest.raises(BadMoment, match="is not a moment; write it like 2026"):
            twin.advance_to(moment)  # type: ignore[arg-type]
        with pytest.raises(BadMoment):
            Twin(start=moment or [])  # type: ignore[arg-type]


def test_fleet_is_made_and_restored_of_what_fits() -> None:
    for count, versions in (("3", ()), (True, ()), (2, 5), (0, ())):
        with pytest.raises(BadFleet):
            Fleet(count, versions)  # type: ignore[arg-type]
    with Fleet(2) as fleet:
        snapshots = fleet.snapshot()
        for foreign in (5, [], snapshots[:1]):
            with pytest.raises(BadCall, match="the list that .* returned, with 2 snapshots"):
                fleet.restore(foreign)  # type: ignore[call-overload]
        with pytest.raises(BadCall, match="accepts a TwinSnapshot"):
            fleet.restore([{}, {}])  # type: ignore[list-item]
        fleet.restore(snapshots)


def test_empty_raw_text_and_one_with_stars_are_shown(twin: Twin) -> None:
    twin.raw(ds1="", ds2="1*2%", oname0="")
    shown = twin.get("/json/all.json")
    assert '"ds1":""' in shown
    assert '"ds2":"1*2%"' in shown
    twin.raw(ds1=None, ds2=None)
    assert '"ds1":""' not in twin.get("/json/all.json")


def test_requested_path_is_no_unknown_path(twin: Twin) -> None:
    with pytest.raises(TwinRefused):
        twin.get("/nothing/here")
    assert len(twin.requests("/nothing/here")) == 1
    assert twin.requests("/nothing/here", method="post") == []
    assert twin.requests("/json/all.json") == []
    assert len(twin.requests("/nothing/")) == 1


def test_raw_text_of_one_path_may_have_any_key(twin: Twin) -> None:
    with twin.fault(faults.raw("OUT0", "7"), path="/api/state"):
        assert '"OUT0":7' in twin.get("/api/state")


def test_refusal_names_the_command_without_its_secrets(twin: Twin) -> None:
    with pytest.raises(
        TwinRefused, match=r"/outs\.cgi\?out9=1 was refused with 4\d\d: "
    ) as refused:
        twin.command("outs.cgi?out0=1", "outs.cgi?out9=1")
    assert refused.value.command == "/outs.cgi?out9=1"
    with pytest.raises(TwinRefused) as refused:
        twin.get("/stm.cgi?em4=secret&nonsense=1")
    assert refused.value.command == "/stm.cgi?em4=***&nonsense=***"
    assert "secret" not in str(refused.value)


def test_all_errors_and_snapshots_can_be_imported_from_the_kit(twin: Twin) -> None:
    kit = leverframe.testing
    assert isinstance(twin.snapshot(), kit.TwinSnapshot)
    assert isinstance(faults.slow(1), kit.Fault)
    for name in kit.__all__:
        value = getattr(kit, name)
        if name.startswith("Bad") or name in ("TwinRefused", "NotRequested", "TwinDidNotStart"):
            assert issubclass(value, ErrorForPeople | BadFault), name
    missing = {
        error.__name__
        for module in [*vars(kit).values()]
        if inspect.ismodule(module)
        for error in vars(module).values()
        if inspect.isclass(error) and issubclass(error, ErrorForPeople)
        if error.__module__.startswith("leverframe.testing") and error.__name__ not in kit.__all__
    }
    assert missing == set()


def test_common_features_of_twins_are_declared_for_any_twin() -> None:
    kinds: list[type] = [Twin, MemberTwin, ProcessTwin, NodeTwin]
    shared = set.intersection(*({one for one in dir(kind) if one[0] != "_"} for kind in kinds))
    declared = {*dir(AnyTwin), *AnyTwin.__annotations__}
    assert shared - declared == set()
    assert {"name", "mac", "pins", "reply", "assert_requested", "recipe"} <= declared


@pytest.mark.parametrize("hw", ["3.0", "3.5", "3.9"])
def test_name_and_address_are_the_same_for_every_kind_of_twin(hw: str) -> None:
    with Twin(hw=hw, accounts={"keeper": "secretly"}) as twin:
        twin.command("stm.cgi?sname=Cellar")
        assert any_twins("mac", twin) == twin.mac
        assert any_twins("name", twin) == twin.name == "Cellar"


def any_twins(name: str, twin: Twin) -> Any:
    """Return what a property says that a twin in this process has a shorter way to."""
    return getattr(AnyTwin, name).fget(twin)
