"""A primary that is gone for good, and a standby that is promoted: synchronous, or behind."""

import asyncio
import time

from tests.fleet.faults.clients import DoorClient
from tests.fleet.faults.kinds import DATABASE
from tests.fleet.faults.processes import NodeProcess
from tests.fleet.faults.scene import FaultScene
from tests.patience import PATIENCE_S
from tests.postgres_standby import follow, promote
from tests.soak.controller import Gone

_WENT_BACK = "was rolled back"


async def promote_standby(scene: FaultScene) -> None:
    """Kill the primary for good; the synchronous standby has everything that was acknowledged.

    The former primary becomes the next standby.
    """
    with scene.ledger.fault(DATABASE):
        await asyncio.to_thread(scene.server.stop, "immediate")
        await asyncio.to_thread(promote, scene.standby)
        scene.change_servers()
        since = time.monotonic()
        scene.measured["served again"].append(await scene.wait_until_served(scene.clients, since))
        await asyncio.to_thread(follow, scene.standby, scene.server, synchronous=True)
    await scene.wait_until_shared_out()


async def promote_standby_behind(scene: FaultScene) -> None:
    """Promote a standby that lacks the newest changes: every node notices, reports and refuses.

    Restarted, as the message says, they accept the present state.
    """
    with scene.ledger.fault(DATABASE):
        await asyncio.to_thread(scene.standby.stop)
        # The standby does not have what is acknowledged from now on.
        await scene.wait_until_served(scene.clients, time.monotonic())
        await asyncio.to_thread(scene.server.stop, "immediate")
        await asyncio.to_thread(scene.standby.start)
        await asyncio.to_thread(promote, scene.standby)
        scene.change_servers()
        since = time.monotonic()
        for node in scene.fleet.nodes.values():
            await _wait_until_noticed(scene, node, since)
        # A door forwards to the other, so both must know.
        for node in scene.fleet.nodes.values():
            await _require_refusals(scene, node)
        await asyncio.gather(*(_start_again(scene, one) for one in scene.fleet.nodes.values()))
        await scene.wait_until_served(scene.clients, time.monotonic())


async def _start_again(scene: FaultScene, node: NodeProcess) -> None:
    scene.fleet.close_door(node)
    await node.stop()
    await node.start()


async def _wait_until_noticed(scene: FaultScene, node: NodeProcess, since: float) -> None:
    """Wait until a node has noticed that the database has gone back.

    Each reports for the others too, by name; what another node noticed proves nothing here.
    """
    client = DoorClient(scene.fleet, "", scene.dice, node.port)
    until = since + PATIENCE_S
    while True:
        try:
            troubles = (await client.json("/api/fleet"))["troubles"]
        except Gone:
            troubles = []
        if any(one.startswith(f"{node.name}: ") and _WENT_BACK in one for one in troubles):
            scene.measured["noticed"].append(time.monotonic() - since)
            break
        if time.monotonic() > until:
            scene.ledger.violation(f"{node.name} has not noticed that the database went back")
            break
        await asyncio.sleep(0.05)
    client.close()


async def _require_refusals(scene: FaultScene, node: NodeProcess) -> None:
    """Check that a node refuses requests for its controllers, with the reason."""
    for name in scene.names_of(node):
        asking = DoorClient(scene.fleet, name, scene.dice, node.port)
        answer = await asking.ask("/outs.cgi?out4=1")
        asking.close()
        scene.ledger.require(
            answer.status == 503 and _WENT_BACK.encode() in answer.body,
            f"{name} answered {answer.status} after the database went back: {answer.body[:200]!r}",
        )
