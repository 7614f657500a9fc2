"""The stop: what must be remembered is on disk, whatever part fails on the way."""

import json
import time
from contextlib import closing
from datetime import UTC
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import build
from leverframe.storage.action_audit import parse_entries
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.snapshots import TROUBLE
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.host.controller_process import PATIENCE_S, ControllerProcess, controller_process


class Stuck:
    async def close(self) -> None:
        raise OSError("it is stuck")


async def list_changed_paths(store: MemoryStore) -> list[str]:
    entries = [msgspec.json.decode(raw) for raw in parse_entries(await store.audit())]
    return [change["path"] for entry in entries for change in entry["changes"]]


async def test_a_part_that_cannot_be_closed_does_not_keep_the_controller_from_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    built = await build(Profile(), store, VirtualClock(), UTC)
    built = replace(built, services=(*built.services, Stuck()))
    await LoopTwin(built.controller, built.web).ok("/outs.cgi?out3=1")
    await built.stop()
    assert await list_changed_paths(store) == ["OUT3"]
    assert "Stuck.close failed" in caplog.text


class NotedStore(MemoryStore):
    """A store that knows whether it was closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_failing_watcher_at_the_end_does_not_keep_actions_from_the_disk(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = NotedStore()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/outs.cgi?out3=1")
    # The end itself changes something that is watched: energy is counted up to then.
    await twin.ok("/inpa.cgi?powsave=1&powsel=0*10")
    await twin.ok("/sim.cgi?m1=3.6&advance=10")
    clock = twin.controller.clock
    assert isinstance(clock, VirtualClock)
    clock.move_to(clock.now() + 600.0)

    def fail() -> None:
        raise ZeroDivisionError("a watcher failed")

    twin.controller.watchers.add(fail)
    await twin.controller.stop()
    assert "a watcher failed" in caplog.text
    assert "OUT3" in await list_changed_paths(store)
    assert store.closed


def troubles(process: ControllerProcess) -> dict[str, str]:
    found: dict[str, str] = json.loads(process.ask("/api/state")[1]).get("troubles", {})
    return found


@pytest.mark.thorough
def test_snapshot_that_cannot_be_removed_is_reported_and_the_stop_loses_nothing(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "snapshot-3.db").mkdir()
    # That the stop ends with 0 although something went wrong is asked by the process itself.
    with controller_process(tmp_path) as process:
        assert process.ask("/stm.cgi?em4=hunter2")[0] == 200
        end = time.monotonic() + PATIENCE_S
        while TROUBLE not in troubles(process):
            assert time.monotonic() < end, "no trouble names the snapshot"
        assert "could not be removed" in troubles(process)[TROUBLE]
        assert json.loads(process.ask("/health")[1])["status"] == "degraded"
        assert process.ask("/outs.cgi?out3=1")[0] == 200
    assert "could not be removed" in process.log.read_text()
    with closing(ChunkStore(data / "history.db", Bounds().max_bytes)) as history:
        assert "OUT3" in history.labels()
    (data / "snapshot-3.db").rmdir()
    with controller_process(tmp_path) as process:
        trail = json.loads(process.ask("/api/audit")[1])
        assert "OUT3" in [change["path"] for entry in trail for change in entry["changes"]]
