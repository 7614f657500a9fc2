"""The faults: each is inflicted once, waited out, and what must hold is checked."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection

from msgspec import Struct

from leverframe.fleet.cluster.lease import BEAT_S, LEASE_S
from tests.fleet.faults.clients import DIRECT, DoorClient
from tests.fleet.faults.processes import NodeProcess
from tests.fleet.faults.scene import FaultScene
from tests.fleet.faults.witness import list_moved
from tests.soak.controller import Gone
from tests.stopwatch import delay_s

DATABASE, NODE = "database", "node"
#: How long faults last, by the clock of a cluster whose times are not shortened.
FROZEN_NODE_S, CUT_OFF_S, AWAY_S = 10.0, 12.0, 9.0
#: Direct requests to a node that wakes up are tried for so long.
DIRECT_S = 2.0
#: An output that is switched every second may be so much late, and by what a busy machine adds.
LATE_S = 1.5

Fault = Callable[[FaultScene], Awaitable[None]]


def _seconds(scene: FaultScene, seconds: float) -> float:
    return seconds * scene.size.shorten


async def kill_node(scene: FaultScene) -> None:
    """`kill -9` of a node; it is started again when the others have its controllers."""
    node = scene.chance.choice(list(scene.fleet.nodes.values()))
    names = scene.names_of(node)
    with scene.ledger.fault(NODE):
        since = time.monotonic()
        await node.kill()
        scene.fleet.close_door(node)
        scene.measured["served again"].append(await scene.wait_until_served(names, since))
        await node.start()
        await scene.wait_until_shared_out()


async def stop_in_order(scene: FaultScene) -> None:
    """A node that is stopped as for an update, and started again."""
    node = scene.chance.choice(list(scene.fleet.nodes.values()))
    names = scene.names_of(node)
    since = time.monotonic()
    scene.fleet.close_door(node)
    status = await node.stop()
    scene.ledger.require(status == 0, f"{node.name} ended with status {status}")
    scene.measured["served again"].append(await scene.wait_until_served(names, since))
    await node.start()
    await scene.wait_until_shared_out()


async def freeze_node(scene: FaultScene) -> None:
    """SIGSTOP of a node, which wakes when others have its controllers."""
    node = scene.chance.choice(list(scene.fleet.nodes.values()))
    names = scene.names_of(node)
    with scene.ledger.fault(NODE):
        since = time.monotonic()
        node.freeze()
        scene.fleet.close_door(node)
        scene.measured["served again"].append(await scene.wait_until_served(names, since))
        await asyncio.sleep(since + _seconds(scene, FROZEN_NODE_S) - time.monotonic())
        node.wake()
        await _ask_directly(scene, node, names, DIRECT_S)
        await scene.wait_until_shared_out()


async def cut_node_off(scene: FaultScene) -> None:
    """A node that does not reach the database; what it sent arrives late."""
    node = scene.proxied
    names = scene.names_of(node)
    with scene.ledger.fault(NODE):
        since = time.monotonic()
        scene.proxy.cut()
        scene.fleet.close_door(node)
        served = asyncio.create_task(scene.wait_until_served(names, since))
        # It may act until the end of its lease; from then on it must not.
        await asyncio.sleep(_seconds(scene, LEASE_S + BEAT_S))
        await _refuses_and_reads(scene, node, names)
        scene.measured["served again"].append(await served)
        await asyncio.sleep(since + _seconds(scene, CUT_OFF_S) - time.monotonic())
        scene.proxy.restore()
        node.is_open = True
        await _ask_directly(scene, node, names, DIRECT_S)
        await scene.wait_until_shared_out()


async def _refuses_and_reads(scene: FaultScene, node: NodeProcess, names: Collection[str]) -> None:
    """A node whose lease has run out carries out nothing, and marks what can be read."""
    for name in names:
        client = DoorClient(scene.fleet, name, scene.dice, node.port)
        try:
            answer = await client.ask("/outs.cgi?out4=1")
            scene.ledger.counts[f"cut off: commands answered {answer.status}"] += 1
            scene.ledger.require(answer.status == 503, f"cut off, it answered {answer.status}")
            answer = await client.ask("/stm.cgi?sname=cut-off")
            scene.ledger.counts[f"cut off: changes answered {answer.status}"] += 1
            # One that was on its way to this node has not come there.
            is_underway = scene.is_moving and answer.status == 503
            scene.ledger.require(
                answer.status == 507 or is_underway,
                f"cut off, a change was answered {answer.status}",
            )
            answer = await client.ask("/api/state")
            is_marked = answer.status == 200 and "warning: 110" in answer.head.lower()
            is_underway = scene.is_moving and answer.status == 503
            scene.ledger.require(
                is_marked or is_underway,
                f"cut off, a read was answered {answer.status} {answer.head!r}",
            )
        except Gone:
            scene.ledger.violation(f"cut off, {node.name} did not answer for {name}")
        client.close()


async def _ask_directly(
    scene: FaultScene, node: NodeProcess, names: Collection[str], seconds: float
) -> None:
    """Ask a node that has lost controllers for them: it forwards to their owners, or refuses."""
    tagged = [name for name in names if name not in scene.untagged]
    until = time.monotonic() + _seconds(scene, seconds)
    while time.monotonic() < until:
        await asyncio.gather(*(_ask_once(scene, node, name) for name in tagged))
        await asyncio.sleep(0.05)


async def _ask_once(scene: FaultScene, node: NodeProcess, name: str) -> None:
    one = scene.clients[name]
    direct = DoorClient(scene.fleet, name, scene.dice, node.port)
    other = DoorClient(scene.fleet, name, scene.dice, _another_door(scene, node))
    try:
        # What is stored by whom is compared at the end; a switch shows where it was done.
        scene.ledger.counts["direct requests"] += 1
        await one.count(DIRECT, direct)
        before = (await other.json("/api/state"))["uptime"]
        await other.ask("/outs.cgi?out3=0")
        answer = await direct.ask("/outs.cgi?out3=1")
        state = await other.json("/api/state")
        if answer.status == 200 and state["uptime"] > before:
            scene.ledger.counts["direct requests forwarded to the owner"] += 1
            scene.ledger.require(state["OUT3"] == 1, f"{node.name} switched {name} itself")
    except Gone:
        pass
    finally:
        direct.close()
        other.close()


def _another_door(scene: FaultScene, node: NodeProcess) -> int:
    return next(port for port in scene.fleet.doors() if port != node.port)


# --- the database -----------------------------------------------------------------------------


async def restart_database(scene: FaultScene) -> None:
    await _database_away(scene, "fast", 0)


async def crash_database(scene: FaultScene) -> None:
    await _database_away(scene, "immediate", 0)


async def stop_database_for_long(scene: FaultScene) -> None:
    await _database_away(scene, "fast", AWAY_S)


async def freeze_database(scene: FaultScene) -> None:
    """All its processes are stopped for a while: what was sent to it may be stored later."""
    before = await _before(scene)
    with scene.ledger.fault(DATABASE):
        with scene.server.frozen():
            gaps = await _without_database(scene, before, _seconds(scene, AWAY_S))
        await _back(scene, before, gaps)


async def _database_away(scene: FaultScene, mode: str, seconds: float) -> None:
    before = await _before(scene)
    with scene.ledger.fault(DATABASE):
        await asyncio.to_thread(scene.server.stop, mode)
        lasts = _seconds(scene, seconds)
        gaps = await _without_database(scene, before, lasts) if seconds else {}
        await asyncio.to_thread(scene.server.start)
        await _back(scene, before, gaps)


class Before(Struct, frozen=True):
    """Where controllers were, and which of them ran, before a fault of the database."""

    at: float
    owners: dict[str, str | None]
    running: set[str]


async def _before(scene: FaultScene) -> Before:
    at, owners = time.time(), scene.fleet.owners()
    return Before(at, owners, await scene.running())


async def _without_database(scene: FaultScene, before: Before, seconds: float) -> dict[str, float]:
    """Look for so long how regularly outputs are switched; return the longest gaps, less the time
    in which nodes, or this process, were kept from running.

    When the leases have run out every node is asked for what it then refuses.
    """
    over = asyncio.Event()
    since, held_up_before_s = time.monotonic(), delay_s()
    looking = asyncio.create_task(scene.switch_times(scene.clients, over))
    await asyncio.sleep(_seconds(scene, LEASE_S + BEAT_S))
    for node in scene.fleet.nodes.values():
        names = [one for one in before.running if before.owners[one] == node.name]
        await _refuses_and_reads(scene, node, names)
    await asyncio.sleep(since + seconds - time.monotonic())
    over.set()
    gaps = await looking
    held_up = delay_s() - held_up_before_s
    return {name: gap - held_up for name, gap in gaps.items()}


async def _back(scene: FaultScene, before: Before, gaps: dict[str, float]) -> None:
    """Wait until all take changes again; they have stayed where they were, and kept switching.

    One that was on its way when the database went stood still, of course: its former node has
    stopped it, and the next one cannot read it. It did not answer just before, or changed hands
    since: no node starts again what may have been given up already.
    """
    owners = before.owners
    since = time.monotonic()
    scene.measured["served again"].append(await scene.wait_until_served(scene.clients, since))
    still = scene.fleet.owners()
    moved = [name for name, node in owners.items() if node != still[name] or node is None]
    scene.ledger.counts["moved by a fault of the database"] += len(moved)
    if scene.size.shorten == 1.0 and not scene.is_moving:
        scene.ledger.require(not moved, f"controllers have moved: {sorted(moved)[:5]}")
    stayed = before.running - await asyncio.to_thread(list_moved, scene.fleet, before.at)
    scene.ledger.counts["on their way when the database went"] += len(gaps.keys() - stayed)
    for name in gaps.keys() & stayed:
        scene.ledger.note("s between switches without a database", gaps[name])
        scene.ledger.require(
            gaps[name] < 1 + LATE_S, f"{name} was not switched for {gaps[name]:.1f} s"
        )
    await scene.wait_until_shared_out()


KINDS: dict[str, Fault] = {
    "kill": kill_node,
    "stop": freeze_node,
    "cut": cut_node_off,
    "restart": restart_database,
    "crash": crash_database,
    "away": stop_database_for_long,
    "freeze": freeze_database,
}
