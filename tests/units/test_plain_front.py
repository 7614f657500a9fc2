"""The front that tests take for a real unit shows nothing of Leverframe's own."""

from collections.abc import Iterator

import httpx
import msgspec
import pytest

from leverframe.testing import Twin
from tests.cases import for_each
from tests.units.plain_front import KNOWN_KEYS, Fate, PlainFront, plain_front


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(hw="3.9", sw="1.75") as twin:
        yield twin


@pytest.fixture
def front(twin: Twin) -> Iterator[PlainFront]:
    twin.reset()
    with plain_front(twin) as front:
        yield front


def status(front: PlainFront, target: str) -> int:
    return httpx.get(front.url + target).status_code


@for_each("path", ["/api/settings", "/api/state", "/health", "/metrics", "/", "/st0.xml"])
def test_paths_of_leverframe_are_not_there(front: PlainFront, path: str) -> None:
    assert httpx.get(front.unit.url + path).status_code == 200
    assert status(front, path) == 404


def test_status_files_have_the_known_keys_alone(front: PlainFront) -> None:
    for path, known in KNOWN_KEYS.items():
        answer = httpx.get(front.url + path)
        if path == "/json/events_per.json" and answer.status_code == 404:
            continue
        if path.endswith(".json"):
            keys = msgspec.json.decode(answer.content, type=dict[str, object])
            assert keys.keys() <= known, path
            assert keys, path
        assert answer.headers["content-type"] in ("application/json", "text/xml")
    names = msgspec.json.decode(httpx.get(f"{front.url}/json/status.json").content)
    assert "outblock" not in names
    front.rich = True
    assert "outblock" in httpx.get(f"{front.url}/json/status.json").text


def test_own_commands_are_ignored_and_the_others_are_carried_out(
    front: PlainFront, twin: Twin
) -> None:
    assert status(front, "/stm.cgi?sname=Cellar&oname=0Pump") == 200
    assert status(front, "/stm.cgi?sname=Cellar") == 200
    assert twin.settings["outputs"][0]["name"] == "Pump"
    assert twin.settings["name"] == ""
    assert front.ignored == ["sname=Cellar", "sname=Cellar"]
    assert front.commands == ["/stm.cgi?sname=Cellar&oname=0Pump", "/stm.cgi?sname=Cellar"]


def test_refusal_has_no_words_of_leverframe(front: PlainFront) -> None:
    answer = httpx.get(f"{front.url}/stm.cgi?oname=9Pump")
    assert (answer.status_code, answer.content) == (400, b"")


def test_requests_have_the_fate_that_the_test_says(front: PlainFront, twin: Twin) -> None:
    fates: dict[int, Fate] = {1: "lost", 2: "dropped", 3: 503}
    front.fate = lambda number, target: fates.get(number)
    for name in ("Lost", "Dropped"):
        with pytest.raises(httpx.RemoteProtocolError):
            status(front, f"/stm.cgi?oname=0{name}")
        assert twin.settings["outputs"][0]["name"] == "Lost"
    assert status(front, "/stm.cgi?oname=0Busy") == 503
    assert twin.settings["outputs"][0]["name"] == "Lost"


def test_reboot_leaves_requests_unanswered_and_begins_the_uptime_again(
    front: PlainFront, twin: Twin
) -> None:
    twin.advance("1h")
    front.reboot(unanswered=1)
    with pytest.raises(httpx.RemoteProtocolError):
        status(front, "/json/status_per.json")
    assert httpx.get(f"{front.url}/json/status_per.json").json()["uptimeHours"] == "0"


def test_another_unit_may_answer_at_the_address(front: PlainFront) -> None:
    with Twin(hw="3.0", sw="1.58a", mac="02:00:00:00:00:09") as other:
        front.unit = other
        found = httpx.get(f"{front.url}/json/all.json").json()
    assert (found["hw"], found["mac"]) == ("3.0", "02:00:00:00:00:09")


def test_hostile_answer_is_sent_as_the_test_writes_it(front: PlainFront) -> None:
    front.texts["oname0"] = "\x1b[2J"
    front.bodies["/json/all.json"] = b"x" * 2_000_000
    assert httpx.get(f"{front.url}/json/status.json").json()["oname0"] == "\x1b[2J"
    assert len(httpx.get(f"{front.url}/json/all.json").content) == 2_000_000
