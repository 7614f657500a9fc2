"""mDNS on the loopback interface: another program of the network's kind finds the controller."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from zeroconf import ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from leverframe.core.profile import Profile
from leverframe.server.mdns import TYPES, MdnsAnnouncer, MdnsResponder
from tests.patience import PATIENCE_S
from tests.stopwatch import within

pytestmark = pytest.mark.usefixtures("mdns_turn")

HERE = "127.0.0.1"
NAME, MAC = "leverframe-0a0b0c", "02:11:22:0A:0B:0C"


def announcer_of(
    profile: Profile, *, name: str = NAME, mac: str = MAC, port: int = 8080, interface: str = HERE
) -> MdnsAnnouncer:
    return MdnsAnnouncer(
        profile,
        name=name,
        host_label=name,
        mac=mac,
        port=port,
        responder=MdnsResponder([interface]),
    )


class Browser:
    """Sees what comes and goes in the network."""

    def __init__(self) -> None:
        self.zeroconf = AsyncZeroconf(interfaces=[HERE])
        self.changes: asyncio.Queue[tuple[str, ServiceStateChange]] = asyncio.Queue()
        self._browser = AsyncServiceBrowser(
            self.zeroconf.zeroconf, list(TYPES), handlers=[self._on_change]
        )

    def _on_change(
        self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange
    ) -> None:
        self.changes.put_nowait((name, state_change))

    async def wait_for(self, change: ServiceStateChange, prefix: str = "leverframe-") -> set[str]:
        """Wait for a change of each type; tests of other workers announce names of theirs."""
        names: set[str] = set()
        async with asyncio.timeout(PATIENCE_S):
            while len(names) < len(TYPES):
                name, what = await self.changes.get()
                if what is change and name.startswith(prefix):
                    names.add(name)
        return names

    async def close(self) -> None:
        await self._browser.async_cancel()
        await self.zeroconf.async_close()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    browser = Browser()
    yield browser
    await browser.close()


async def test_controller_is_seen_with_its_versions_and_says_good_bye(
    browser: Browser,
) -> None:
    troubles: dict[str, str] = {}
    announcer = announcer_of(Profile("3.9", "1.75"))
    announcer.start([HERE], troubles)
    assert await browser.wait_for(ServiceStateChange.Added) == {f"{NAME}.{kind}" for kind in TYPES}
    info = AsyncServiceInfo(TYPES[1], f"{NAME}.{TYPES[1]}")
    assert await info.async_request(browser.zeroconf.zeroconf, 1000 * PATIENCE_S)
    assert info.port == 8080
    assert info.parsed_addresses() == [HERE]
    assert info.decoded_properties == {"hw": "3.9", "sw": "1.75", "mac": MAC, "path": "/"}
    await announcer.close()
    assert await browser.wait_for(ServiceStateChange.Removed) == {
        f"{NAME}.{kind}" for kind in TYPES
    }
    assert troubles == {}


async def test_another_version_is_announced_immediately(browser: Browser) -> None:
    announcer = announcer_of(Profile("3.9", "1.75"))
    announcer.start([HERE], {})
    await browser.wait_for(ServiceStateChange.Added)
    announcer.set_version(Profile("3.9", "1.48"))
    assert await browser.wait_for(ServiceStateChange.Updated) == {
        f"{NAME}.{kind}" for kind in TYPES
    }
    info = AsyncServiceInfo(TYPES[0], f"{NAME}.{TYPES[0]}")
    assert await info.async_request(browser.zeroconf.zeroconf, 1000 * PATIENCE_S)
    assert info.decoded_properties["sw"] == "1.48"
    assert info.parsed_addresses() == [HERE]
    await announcer.close()


async def test_closing_does_not_wait_for_the_announcement() -> None:
    announcer = announcer_of(Profile())
    announcer.start([HERE], {})
    # Far enough that it is asking whether the name is in use.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with within(1.0):
        await announcer.close()


# The library leaves the socket that it could not use to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_address_that_this_machine_does_not_have_is_a_trouble() -> None:
    troubles: dict[str, str] = {}
    announcer = announcer_of(Profile(), interface="203.0.113.7")
    announcer.start([], troubles)
    assert announcer._announcing is not None
    await announcer._announcing
    assert "does not announce" in troubles["mDNS"]
    await announcer.close()


async def test_failed_announcement_is_a_trouble_after_a_change_of_version_or_name() -> None:
    troubles: dict[str, str] = {}
    announcer = announcer_of(Profile(), mac="m" * 300)
    announcer.start([HERE], troubles)
    announcer.set_version(Profile("3.9", "1.48"))
    announcer.rename("Cellar")
    assert announcer._announcing is not None
    await announcer._announcing
    assert "does not announce" in troubles["mDNS"]
    await announcer.close()


async def test_another_name_is_announced_in_place_of_the_first_one(browser: Browser) -> None:
    announcer = announcer_of(Profile())
    announcer.start([HERE], {})
    await browser.wait_for(ServiceStateChange.Added)
    announcer.rename(NAME)
    new = "leverframe-ogród 1.5 " + "ż" * 31
    announcer.rename(new)
    assert await browser.wait_for(ServiceStateChange.Removed) == {
        f"{NAME}.{kind}" for kind in TYPES
    }
    label = "leverframe-ogród 1 5 " + "ż" * 18
    assert await browser.wait_for(ServiceStateChange.Added) == {f"{label}.{kind}" for kind in TYPES}
    info = AsyncServiceInfo(TYPES[0], f"{label}.{TYPES[0]}")
    assert await info.async_request(browser.zeroconf.zeroconf, 1000 * PATIENCE_S)
    assert (info.server, info.parsed_addresses()) == (f"{NAME}.local.", [HERE])
    await announcer.close()


async def test_name_before_the_first_announcement_only_counts(browser: Browser) -> None:
    announcer = announcer_of(Profile())
    announcer.rename("leverframe-cellar")
    announcer.start([HERE], {})
    added = await browser.wait_for(ServiceStateChange.Added)
    assert added == {f"leverframe-cellar.{kind}" for kind in TYPES}
    await announcer.close()
