"""Requests for a failed controller get its cause."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from leverframe.fleet import entrance
from leverframe.fleet.member import UNMADE
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.roster import CAUSE_WITHHELD
from leverframe.fleet.serve import start_controllers
from leverframe.storage.lanes.lane import MemoryLane
from tests.cases import for_each
from tests.fleet.failing import fail
from tests.fleet.http_client import Answered, ask_once
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.tenant_fleet import tenant_fleet
from tests.fleet.test_door import HOME, name_in
from tests.fleet.test_fleet_file import read
from tests.ports import free_port

ADDRESS = "127.0.0.51"
FILE = """\
[[controllers]]
name = "a"
address = "127.0.0.51"
port = {port}
[[controllers]]
name = "b"
[[controllers]]
name = "gh-{{n}}-x"
count = 20
sw = "7"
"""


async def start(node: LoopNode, folder: Path, port: int) -> None:
    """Start a node as the command does, with the mistakes of its file."""
    fleet = read(folder, FILE.format(port=port))
    await node.node.door.listen(HOME, 0)
    await start_controllers(node.web, fleet.controllers, as_json=False)
    for mistake in fleet.mistakes:
        node.node.roster.note_mistake(mistake.who, mistake.sentence, mistake.name)


async def ask_node(node: LoopNode, host: str, address: str = HOME, **headers: str) -> Answered:
    return await ask_once(address, node.node.door.port, "/json/all.json", host, **headers)


def detail(answer: Answered) -> str:
    sentence: str = msgspec.json.decode(answer.body)["detail"]
    return sentence


@asynccontextmanager
async def node_with_failed_controller(folder: Path, *, is_stored: bool) -> AsyncIterator[LoopNode]:
    """Start a node whose file names a port in use; it may have been free earlier."""
    lane, port = MemoryLane(), free_port()
    if is_stored:
        async with loop_node(lane) as before:
            await start(before, folder, port)
            assert before.node.members.keys() == {"a", "b"}
    with socket.create_server((HOME, port)):
        async with loop_node(lane) as node:
            await start(node, folder, port)
            yield node


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleet")


@for_each("is_stored", [False, True])
async def test_failed_controller_shows_the_cause_at_its_name_and_address(
    folder: Path, is_stored: bool
) -> None:
    async with node_with_failed_controller(folder, is_stored=is_stored) as node:
        for answer in (await ask_node(node, "a.localhost"), await ask_node(node, ADDRESS, ADDRESS)):
            assert answer.status == 503
            problem = detail(answer)
            assert problem.startswith("This controller failed to start. ")
            assert "fleet.toml, line 4: a failed to start: port " in problem
            assert problem.endswith("Retry it with `leverframe fleet start a`.")
            # Nothing retries it, so there is nothing to wait for.
            assert "retry-after" not in answer.head.lower()
        assert name_in((await ask_node(node, "b.localhost")).body) == "b"


async def test_rollout_reports_why_a_controller_failed_to_start(folder: Path) -> None:
    lane, port = MemoryLane(), free_port()
    async with loop_node(lane) as before:
        await start(before, folder, port)
        careless = {"success": 0, "errors": "none", "snapshot": 0, "check_health": 0}
        await before.post("rollout/plan", id="r", command="stm.cgi?eventname=1Frost", **careless)
    with socket.create_server((HOME, port)):
        async with loop_node(lane) as node:
            await start(node, folder, port)
            await node.post("rollout/start", id="r")
            await node.web.jobs.find("r").wait_until_ended()
            done, failed = (await node.get("rollout", id="r"))["results"]
            assert (failed["name"], failed["status"], done["status"]) == ("a", 503, 200)
            assert "a failed to start: port " in failed["detail"]


async def test_every_controller_of_an_invalid_table_shows_its_mistake(folder: Path) -> None:
    async with node_with_failed_controller(folder, is_stored=False) as node:
        answer = await ask_node(node, "gh-12-x.localhost")
        assert answer.status == 503
        assert "fleet.toml, line 10: gh-{n}-x: " in detail(answer)
        for host in ("c.localhost", "gh-12.localhost", "a.evil.example", "evil.example"):
            assert (await ask_node(node, host)).status == 404


async def test_browser_gets_a_page_with_the_cause_and_a_link_to_the_node(folder: Path) -> None:
    page = {"Accept": "text/html", "Accept-Language": "fr"}
    async with node_with_failed_controller(folder, is_stored=False) as node:
        fail(node.node, MemberRecord("c"), UNMADE, "It has <b> & more.")
        answer = await ask_node(node, "c.localhost:8081", **page)
        assert answer.status == 503
        assert f"<h1>{entrance.NOT_STARTED_PAGE['fr'].title}</h1>" in answer.body
        assert '<p lang="en">It has &lt;b&gt; &amp; more.</p>' in answer.body
        assert 'href="//localhost:8081/"' in answer.body
        assert "refresh:" not in answer.head.lower()


async def test_cause_is_hidden_from_strangers_if_sign_in_is_required() -> None:
    async with tenant_fleet() as fleet:
        await fleet.node.node.door.listen(HOME, 0)
        fail(fleet.node.node, MemberRecord("c"), UNMADE, "/home/x/fleet.toml is wrong.")
        answer = await ask_node(fleet.node, "c.localhost")
        assert (answer.status, detail(answer)) == (503, CAUSE_WITHHELD)
        answer = await ask_node(fleet.node, "c.localhost", Accept="text/html")
        assert "fleet.toml" not in answer.body


async def test_retried_controller_answers_and_its_address_may_be_reassigned(
    folder: Path,
) -> None:
    async with node_with_failed_controller(folder, is_stored=False) as node:
        await node.post("add", name="d", address=ADDRESS)
        assert name_in((await ask_node(node, ADDRESS, ADDRESS)).body) == "d"
        await node.post("add", name="a")
        assert name_in((await ask_node(node, "a.localhost")).body) == "a"
