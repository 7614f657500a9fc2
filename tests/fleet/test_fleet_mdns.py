"""mDNS of a node: one responder for all controllers with an address, added or removed."""

import asyncio

import pytest
from zeroconf import ServiceStateChange
from zeroconf.asyncio import AsyncServiceInfo

from leverframe.fleet.discovery import FleetMdns
from leverframe.server.mdns import TYPES, MdnsResponder
from tests.fleet.loop_node import loop_node
from tests.patience import PATIENCE_S
from tests.server.discovery.test_mdns import HERE, Browser

pytestmark = pytest.mark.usefixtures("mdns_turn")


async def wait_for_change(browser: Browser, change: ServiceStateChange, *names: str) -> None:
    """Wait until a change of all these names was heard, for each type."""
    left = {f"{name}.{kind}" for name in names for kind in TYPES}
    async with asyncio.timeout(PATIENCE_S):
        while left:
            name, what = await browser.changes.get()
            if what is change:
                left.discard(name)


@pytest.mark.thorough
async def test_controllers_with_an_address_are_announced_by_one_responder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = 0
    open_one = MdnsResponder.addresses

    async def open_and_count(responder: MdnsResponder) -> object:
        nonlocal opened
        opened += 1
        return await open_one(responder)

    monkeypatch.setattr(MdnsResponder, "addresses", open_and_count)
    browser = Browser()
    async with loop_node() as node:
        await node.node.door.listen("127.0.0.1", 0)
        await node.post("add", name="lf-cellar-{n}", count=2, address="127.0.0.41")
        await node.post("add", name="lf-hidden")
        announced = FleetMdns(node.node, 8080, is_announced=lambda _: True)
        announced.start(HERE)
        await wait_for_change(browser, ServiceStateChange.Added, "lf-cellar-1", "lf-cellar-2")
        info = AsyncServiceInfo(TYPES[1], f"lf-cellar-2.{TYPES[1]}")
        assert await info.async_request(browser.zeroconf.zeroconf, 1000 * PATIENCE_S)
        assert (info.port, info.parsed_addresses()) == (8080, ["127.0.0.42"])
        assert (info.properties or {})[b"mac"] == node.member("lf-cellar-2").built.mac.encode()
        await node.post("remove", name="lf-cellar-1")
        await wait_for_change(browser, ServiceStateChange.Removed, "lf-cellar-1")
        await node.post("rename", name="lf-cellar-2", to="lf-attic")
        await wait_for_change(browser, ServiceStateChange.Added, "lf-attic")
        await node.post("add", name="lf-roof", address="127.0.0.43")
        await wait_for_change(browser, ServiceStateChange.Added, "lf-roof")
        await node.post("place", name="lf-roof", address="127.0.0.45")
        await wait_for_change(browser, ServiceStateChange.Added, "lf-roof")
        moved = AsyncServiceInfo(TYPES[1], f"lf-roof.{TYPES[1]}")
        assert await moved.async_request(browser.zeroconf.zeroconf, 1000 * PATIENCE_S)
        assert moved.parsed_addresses() == ["127.0.0.45"]
        await node.post("place", name="lf-roof", address="none")
        await wait_for_change(browser, ServiceStateChange.Removed, "lf-roof")
        await announced.close()
        await wait_for_change(browser, ServiceStateChange.Removed, "lf-attic")
        assert opened == 1
    await browser.close()


async def test_loopback_addresses_are_not_announced() -> None:
    async with loop_node() as node:
        await node.node.door.listen("127.0.0.1", 0)
        await node.post("add", name="gh-1", address="127.0.0.44")
        announced = FleetMdns(node.node, 8080)
        announced.start(HERE)
        assert not announced._announcers
        await announced.close()
