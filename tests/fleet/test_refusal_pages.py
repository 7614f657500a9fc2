"""Pages of a node for requests that it refuses; programs get a problem in JSON."""

import re
from base64 import b64encode
from hashlib import sha256

from leverframe.fleet import entrance
from tests.fleet.cluster.joined_doors import join_nodes
from tests.fleet.http_client import Answered, ask, ask_once, connection_to
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.tenant_fleet import tenant_fleet

HOME = "127.0.0.1"
PAGE = {"Accept": "text/html,application/xhtml+xml", "Accept-Language": "fr"}


async def ask_node(node: LoopNode, target: str, host: str, **headers: str) -> Answered:
    if node.node.door.open_port is None:
        await node.node.door.listen(HOME, 0)
    return await ask_once(HOME, node.node.door.port, target, host, **headers)


def heading(answer: Answered) -> str:
    found = re.search("<h1>(.*)</h1>", answer.body)
    assert found, answer.body
    return found[1]


def links(answer: Answered) -> list[str]:
    return re.findall('<a href="([^"]*)"', answer.body)


async def test_unknown_path_gets_a_page_with_links_to_controllers() -> None:
    async with loop_node() as node:
        answer = await ask_node(node, "/nonsense", "localhost", **PAGE)
        assert (answer.status, heading(answer)) == (404, "Il n’y a rien ici")
        assert links(answer) == ["/"]
        plain = await ask_node(node, "/nonsense", "localhost", Accept="*/*")
        assert (plain.status, "application/problem+json" in plain.head) == (404, True)


async def test_unknown_name_gets_a_page_with_a_link_in_own_domains_only() -> None:
    async with loop_node(hosts=("fleet.example",)) as node:
        for host, link in (
            ("nope.localhost:8081", ["//localhost:8081/"]),
            ("nope.fleet.example", ["//fleet.example/"]),
            ("www.strange.example", []),
        ):
            answer = await ask_node(node, "/", host, **PAGE)
            assert (answer.status, links(answer)) == (404, link)
            assert heading(answer) == entrance.NO_NAME["fr"].title
        plain = await ask_node(node, "/", "nope.localhost")
        assert "problem+json" in plain.head


async def test_refusal_page_carries_its_style_and_policy() -> None:
    async with loop_node() as node:
        answer = await ask_node(node, "/", "nope.localhost", **PAGE)
        style = answer.body.partition("<style>")[2].partition("</style>")[0]
        digest = b64encode(sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in answer.head
        assert "--ground" in style
        assert '<link rel="stylesheet"' not in answer.body


async def test_missing_or_moved_controller_gets_a_page() -> None:
    async with join_nodes(hold_s=1.0) as nodes:
        nodes.owners["gh-1"] = None
        nodes.publish()
        answer = await ask_once(HOME, nodes["a"].port, "/", "gh-1.localhost", **PAGE)
        assert (answer.status, heading(answer)) == (503, entrance.NO_NODE["fr"].title)
        # The page reloads automatically.
        assert "Refresh: 5" in answer.head
        # A forwarded connection does not reach a controller of a third node.
        await nodes.put("gh-2", "b")
        async with connection_to(HOME, nodes["a"].port) as client:
            assert (await ask(client, "/", "gh-2.localhost")).body == "gh-2 at b"
            answer = await ask(client, "/", "gh-1.localhost", **PAGE)
        assert (answer.status, heading(answer)) == (421, entrance.MOVED_PAGE["fr"].title)


async def test_missing_sign_in_gets_a_page() -> None:
    async with tenant_fleet() as fleet:
        answer = await ask_node(fleet.node, "/", "localhost", **PAGE)
        assert (answer.status, heading(answer)) == (401, "Connectez-vous à cette flotte")
        assert "WWW-Authenticate: Basic" in answer.head
        assert links(answer) == [""]
