"""The stories of the page "Try it": a twin in this process gets the requests of the page."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.testing.in_tab import TabTwin
from tests.docs.blocks import DOCS
from tests.testing.test_in_tab import Client
from tools import try_page

PAGE = DOCS / "static" / "try"
STORIES: list[dict[str, Any]] = msgspec.json.decode((PAGE / "stories.json").read_bytes())
#: The console's notation in `page.js`.
LINE = re.compile(r"(?:(GET|POST) +)?(/\S*)(?: +(.*))?")

Ask = Callable[[str, str, str], Awaitable[Any]]


def start_of_page() -> dict[str, str]:
    """Return the moment and the time zone in which the page starts a controller."""
    found = re.search(r'START = \{ start: "(\S+)", timezone: "(\S+)" \}', text_of("page.js"))
    assert found is not None
    return {"start": found[1], "timezone": found[2]}


def text_of(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


async def follow(story: dict[str, Any], look: Callable[[int, Ask], Awaitable[None]]) -> None:
    """Send the requests of a story; call `look` after each step."""
    twin = await TabTwin.start(**start_of_page())

    async def ask(method: str, target: str, body: str = "") -> Any:
        client = Client()
        twin.answer(1, method, target, [], body.encode(), client)
        await client.wait()
        assert client.status == 200, (target, client.body)
        return msgspec.json.decode(client.body) if client.body[:1] in b"[{" else client.body

    for number, step in enumerate(story["steps"], 1):
        for line in step["requests"]:
            match = LINE.fullmatch(line)
            assert match is not None
            method, target, body = match.groups("")
            await ask("POST" if body else method or "GET", target, body)
        await look(number, ask)
    await twin.close()


async def test_heater_keeps_the_greenhouse_warm_until_its_relay_fails() -> None:
    readings = []

    async def look(step: int, ask: Ask) -> None:
        state = await ask("GET", "/api/state", "")
        readings.append((step, state["DS1"], state["OUT0"]))

    await follow(STORIES[0], look)
    assert [step for step, _, _ in readings] == [1, 2, 3, 4, 5]
    _, _, night, failed, repaired = (reading for _, reading, _ in readings)
    assert 5.5 <= night <= 8.5
    assert failed < 2
    assert repaired > failed
    assert readings[3][2] == 1  # the controller does not notice


async def test_rule_says_why_the_fan_does_not_run() -> None:
    reasons, fans = [], []

    async def look(step: int, ask: Ask) -> None:
        rules, state = await ask("GET", "/api/rules", ""), await ask("GET", "/api/state", "")
        reasons.append(rules[1]["why"]["text"])
        fans.append(state["OUT2"])

    await follow(STORIES[1], look)
    assert reasons[1] == "Rule 1 must be met but is not."
    assert fans == [0, 0, 1, 0]


async def test_lamp_is_on_in_the_evening_of_a_winter_day() -> None:
    lamps = []

    async def look(step: int, ask: Ask) -> None:
        lamps.append((await ask("GET", "/api/state", ""))["OUT1"])

    await follow(STORIES[2], look)
    assert lamps == [0, 1, 1]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story["title"])
def test_each_step_shows_a_page_of_the_controller(story: dict[str, Any]) -> None:
    known = (DOCS.parent / "src/leverframe/web/pages/index.js").read_text(encoding="utf-8")
    for step in story["steps"]:
        name = re.match(r"#/(\w+)", step["page"])
        assert name is not None
        assert f'name: "{name[1]}"' in known


def test_wheels_have_the_versions_that_are_run() -> None:
    locked = (DOCS.parent / "tools/try_page/wheels.txt").read_text(encoding="utf-8")
    run = (DOCS.parent / "requirements/run.txt").read_text(encoding="utf-8")
    names = re.findall(r"^(\S+==\S+)", locked, re.MULTILINE)
    assert [name.partition("==")[0] for name in names] == ["msgspec", "tzdata"]
    assert [name for name in names if f"{name} " not in run] == []


def test_site_is_built_without_npm_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(try_page, "WHEELS", tmp_path / "wheels")
    monkeypatch.setenv("PATH", str(tmp_path))
    try_page.main(tmp_path / "site")
    assert capsys.readouterr().out == (
        "The page to try Leverframe in a browser has no controller: npm is not installed.\n"
    )
    assert not (tmp_path / "site").exists()
