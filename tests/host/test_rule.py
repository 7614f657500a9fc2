"""`leverframe rule`: a line of text becomes a rule of a running controller."""

import json

import pytest

from leverframe.__main__ import main
from leverframe.testing import Twin


def test_rule_is_added_and_the_printed_request_sets_the_same_rule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "when DS1 >= 25 until 23 then OUT2 on, permanent"
    with Twin() as first, Twin() as second:
        assert main(["rule", line, "--to", first.url, "--json"]) == 0
        added = json.loads(capsys.readouterr().out)
        assert added["rule"] == 1
        second.get(added["request"].removeprefix(first.url.rstrip("/")))
        assert second.settings == first.settings


def test_refusal_of_the_controller_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with Twin() as twin:
        assert main(["rule", "when DS1 > 25 then OUT2 on", "--to", twin.url]) == 2
    assert "leverframe: 'DS1 > 25' is not a condition." in capsys.readouterr().err


def test_missing_controller_is_reported_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "when DS1 >= 1 then OUT2 on", "--to", "http://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err == (
        "leverframe: http://127.0.0.1:9 does not answer: Connection refused. Start a controller"
        " with `leverframe run`, or set its address with --to.\n"
    )
