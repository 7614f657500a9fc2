"""Damaged files after a kill: every acknowledged change is there, or its loss is reported.

A kill is played by copying the files of a running store, with the index of its log. `tests/crash/
damage_rounds.py` does the same with processes that are killed.
"""

import asyncio
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leverframe.storage.datafolder import NODE_STORE_NAME, STORE_NAME, DataFolder
from leverframe.storage.encryption import EncryptingStore, unreadable_sentence
from leverframe.storage.lanes.node_folder import FleetFolder, open_lane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.sqlite import SqliteStore, open_store
from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew
from leverframe.storage.store import Changes, Store, StoreUnavailable
from tests.crash.file_damage import DAMAGES
from tests.effort import THOROUGH

SCENES = 6 if THOROUGH else 2
ROUNDS_PER_SCENE = 8 if THOROUGH else 6
CONTROLLERS = 3

#: Settings, remembered state and uploads of each controller.
Content = dict[int, tuple[dict[str, Any], dict[str, Any], bytes | None]]


class Files:
    """The folder of a controller or node that is written until it is killed."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.older, self.killed = folder / "older", folder / "killed"
        self._chance = chance
        self._running = folder / "running"
        self._running.mkdir(parents=True)
        self.acknowledged: Content = {}
        asyncio.run(self._live())

    def open(self, folder: Path) -> tuple[dict[int, Store], Any, Any]:
        """Open the stores of all controllers; with what takes a snapshot and what closes them."""
        raise NotImplementedError

    async def _live(self) -> None:
        for _ in range(self._chance.randrange(1, 4)):
            stores, settle, close = self.open(self._running)
            Snapshots(self.path(self._running), settle).take()
            for number in range(self._chance.randrange(2, 30)):
                await self._change(self._chance.choice(list(stores)), stores, number)
                if self._chance.random() < 0.05:
                    settle()
                if number == 0 or self._chance.random() < 0.1:
                    self._copy_to(self.older)
            self._copy_to(self.killed)
            await close()

    async def _change(self, controller: int, stores: dict[int, Store], number: int) -> None:
        settings, kept, upload = self.acknowledged.get(controller, ({}, {}, None))
        new: dict[str, Any] = {
            f"outputs.{self._chance.randrange(6)}.name": f"name {self._chance.random()}"
        }
        if self._chance.random() < 0.1:
            new["email.password"] = f"canary {self._chance.random()}"
        blobs: dict[str, bytes | None] = {}
        if self._chance.random() < 0.1:
            upload = self._chance.randbytes(self._chance.choice((500, 30_000)))
            blobs = {"site": upload}
        await stores[controller].commit(Changes(new, {"number": number}, blobs))
        self.acknowledged[controller] = ({**settings, **new}, {**kept, "number": number}, upload)

    def _copy_to(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._running, folder)

    def path(self, folder: Path) -> Path:
        raise NotImplementedError

    def start(self, folder: Path) -> tuple[dict[int, Store], str, Any]:
        """Start on damaged files; give the stores, and what is reported."""
        raise NotImplementedError

    async def outcome(self, folder: Path) -> tuple[bool, str]:
        """Whether everything acknowledged is there after a start, and what was reported."""
        try:
            stores, report, close = self.start(folder)
        except (StoreDamaged, StoreTooNew, StoreUnavailable) as refusal:
            return False, str(refusal)
        found: Content = {}
        for one, store in stores.items():
            try:
                stored = store.load()
                blob = await store.blob("site")
            except StoreDamaged as damage:
                report += str(damage)
                continue
            if stored.unreadable:
                report += unreadable_sentence(stored.unreadable, stored.why_unreadable)
            found[one] = (stored.settings, stored.kept, blob)
        await close()
        nothing: Any = ({}, {}, None)
        is_whole = all(found.get(one) == self.acknowledged.get(one, nothing) for one in stores)
        return is_whole, report


class ControllerFiles(Files):
    def path(self, folder: Path) -> Path:
        return folder / STORE_NAME

    def open(self, folder: Path) -> tuple[dict[int, Store], Any, Any]:
        held = DataFolder(folder)
        inner = SqliteStore(held.store_path)
        store = EncryptingStore(inner, held.key_path)

        async def close() -> None:
            await store.close()
            held.close()

        return {0: store}, inner.settle, close

    def start(self, folder: Path) -> tuple[dict[int, Store], str, Any]:
        with DataFolder(folder) as held:
            opened = open_store(held.store_path, was_closed=held.was_given_back)
        store = EncryptingStore(opened.store, held.key_path)
        return {0: store}, " ".join(opened.troubles.values()), store.close


class NodeFiles(Files):
    def path(self, folder: Path) -> Path:
        return folder / NODE_STORE_NAME

    def open(self, folder: Path) -> tuple[dict[int, Store], Any, Any]:
        held = FleetFolder(folder)
        lane = SqliteLane(held.store_path, held.key_path)

        async def close() -> None:
            await lane.close()
            held.close()

        return self._stores(lane), lane.settle, close

    def _stores(self, lane: SqliteLane) -> dict[int, Store]:
        return {one: lane.store(one) for one in range(1, CONTROLLERS + 1)}

    def start(self, folder: Path) -> tuple[dict[int, Store], str, Any]:
        with FleetFolder(folder) as held:
            opened = open_lane(held)
        return self._stores(opened.lane), " ".join(opened.troubles.values()), opened.lane.close


@pytest.mark.parametrize("kind", [ControllerFiles, NodeFiles])
def test_damaged_file_after_a_kill_loses_nothing_silently(
    tmp_path: Path, kind: type[Files]
) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(SCENES):
        chance = random.Random(seed)
        files = kind(tmp_path / str(seed), chance)
        for number in range(ROUNDS_PER_SCENE):
            folder = tmp_path / "damaged"
            shutil.copytree(files.killed, folder)
            name = chance.choice(sorted(file.name for file in folder.iterdir()))
            damage = chance.choice(DAMAGES)
            damage(folder / name, files.older, chance)
            is_whole, report = asyncio.run(files.outcome(folder))
            what = f"seed {seed}, round {number}: {damage.__name__} of {name}"
            assert is_whole or report, what
            outcomes["whole" if is_whole else "reported"] += 1
            shutil.rmtree(folder)
        shutil.rmtree(tmp_path / str(seed))
    assert outcomes["whole"]
    assert outcomes["reported"]


@pytest.mark.parametrize("kind", [ControllerFiles, NodeFiles])
def test_kill_without_damage_is_never_reported(tmp_path: Path, kind: type[Files]) -> None:
    for seed in range(SCENES):
        files = kind(tmp_path / str(seed), random.Random(seed + 1000))
        assert asyncio.run(files.outcome(files.killed)) == (True, ""), f"seed {seed}"
        shutil.rmtree(tmp_path / str(seed))
