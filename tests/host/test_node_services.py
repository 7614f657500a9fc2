"""Several controllers of a process, and what they have in common."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC
from typing import Any

import pytest

from leverframe.core.engine.journal import Cause
from leverframe.core.engine.rule_advice import Advice
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.core.runtime.log_lines import CONTROLLER, LoggedName, within
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.controller.version_switch import install
from leverframe.host.services import NodeServices
from leverframe.server.passwords import AT_A_TIME, Passwords
from leverframe.server.routes import rules
from leverframe.storage.store import MemoryStore, Stored
from leverframe.testing.in_process import LoopTwin
from tests.devices.waiting import until
from tests.patience import PATIENCE_S

OLD, NEW = Profile("3.0", "1.58a"), Profile()


@pytest.fixture
async def node() -> AsyncIterator[NodeServices]:
    node = NodeServices()
    yield node
    await node.close()


async def build_on(node: NodeServices, profile: Profile = NEW) -> ControllerHost:
    return await build(profile, MemoryStore(), VirtualClock(), UTC, node=node)


async def test_documents_of_the_api_are_made_once_for_a_version(node: NodeServices) -> None:
    builts = [await build_on(node, profile) for profile in (NEW, NEW, OLD)]
    twins = [LoopTwin(built.controller, built.web) for built in builts]
    replies = [await twin.ok("/api/openapi.json") for twin in twins]
    assert replies[0].body is replies[1].body
    assert replies[0].body != replies[2].body
    for built in builts:
        await built.stop()


async def test_controller_that_becomes_another_version_shows_its_documents(
    node: NodeServices,
) -> None:
    built, old = await build_on(node), await build_on(node, Profile("3.9", "1.70"))
    twin, other = (LoopTwin(one.controller, one.web) for one in (built, old))
    before = await twin.ok("/api/commands")
    await install(built.controller, "1.70", None, Cause("firmware"))
    after = await twin.ok("/api/commands")
    assert after.body != before.body
    assert (await other.ok("/api/commands")).body is after.body
    await built.stop()
    await old.stop()


async def test_later_tasks_of_a_controller_are_logged_under_its_name(node: NodeServices) -> None:
    created = within(LoggedName("gh-7"), asyncio.get_running_loop().create_task)
    built = await created(build_on(node))
    seen: list[str] = []
    built.controller.watchers.add(lambda: seen.append(CONTROLLER.get().name))
    created(built.controller.advance(1.0))
    await until(lambda: bool(seen))
    assert (set(seen), CONTROLLER.get().name) == ({"gh-7"}, "")
    await built.stop()


async def test_all_controllers_take_turns_at_hashing(node: NodeServices) -> None:
    each = [Passwords(node.hashing) for _ in range(3)]
    hashing = [asyncio.create_task(passwords.hash("long secret")) for passwords in each]
    await asyncio.sleep(0)
    assert node.hashing.locked()
    assert len(hashing) > AT_A_TIME
    assert len(set(await asyncio.gather(*hashing))) == len(each)


async def test_controller_has_no_thread_of_its_own(node: NodeServices) -> None:
    before = set(threading.enumerate())
    builts = [await build(NEW, MemoryStore(), SystemClock(), UTC, node=node) for _ in range(20)]
    assert set(threading.enumerate()) <= before
    for built in builts:
        await built.stop()


async def test_store_is_read_once() -> None:
    class CountedStore(MemoryStore):
        loads = 0

        def load(self) -> Stored:
            self.loads += 1
            return super().load()

    store = CountedStore()
    built = await build(NEW, store, VirtualClock(), UTC)
    await built.stop()
    assert store.loads == 1
    stored, store.loads = store.load(), 0
    again = await build(NEW, store, VirtualClock(), UTC, stored=stored)
    await again.stop()
    assert store.loads == 0
    assert (again.name, again.mac) == (built.name, built.mac)
    assert again.snmp_identity.boots > built.snmp_identity.boots


async def test_advice_on_rules_is_worked_out_beside_the_loop(
    node: NodeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, advise = [], rules.advise

    def record_thread(*arguments: Any) -> list[Advice]:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            # Settings that change during the advice are checked again.
            loop.call_soon_threadsafe(changed.set)
            assert resumed.wait(PATIENCE_S)
        return advise(*arguments)

    loop, changed, resumed = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    monkeypatch.setattr(rules, "advise", record_thread)
    built = await build_on(node)
    twin = LoopTwin(built.controller, built.web)
    await twin.ok("/stm.cgi?oname=0First")
    asked = asyncio.create_task(twin.json("/api/rules"))
    await asyncio.wait_for(changed.wait(), PATIENCE_S)
    await twin.ok("/stm.cgi?oname=0Second")
    resumed.set()
    assert len(await asked) == len(built.controller.engine.settings.rules)
    assert threading.main_thread() not in threads
    assert len(threads) == 2
    await built.stop()
