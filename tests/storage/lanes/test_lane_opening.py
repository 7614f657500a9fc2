"""The lane of a node whose files are damaged, in use or foreign."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from leverframe.storage.datafolder import FolderInUse
from leverframe.storage.lanes.node_folder import FleetFolder, open_lane
from leverframe.storage.lanes.sqlite_lane import MIGRATIONS
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.sqlite_file import StoreDamaged, migrate, read_migrations
from leverframe.storage.store import Changes, StoreUnavailable


async def fill(folder: FleetFolder, value: int) -> None:
    lane = open_lane(folder).lane
    await lane.store(1).commit(Changes({"a": value}))
    await asyncio.to_thread(Snapshots(folder.store_path, lane.settle).take)
    await lane.store(1).commit(Changes({"a": value + 1}))
    await lane.close()


async def test_damaged_file_is_replaced_by_its_snapshot(tmp_path: Path) -> None:
    with FleetFolder(tmp_path / "node") as folder:
        await fill(folder, 1)
        folder.store_path.write_bytes(b"rubbish" * 5000)
        opened = open_lane(folder)
        assert "last good snapshot" in opened.troubles["recovery"]
        assert opened.lane.store(1).load().settings == {"a": 1}
        await opened.lane.close()


async def test_sound_file_is_opened_as_it_is(tmp_path: Path) -> None:
    with FleetFolder(tmp_path / "node") as folder:
        await fill(folder, 1)
        opened = open_lane(folder)
        assert opened.troubles == {}
        assert opened.lane.store(1).load().settings == {"a": 2}
        await opened.lane.close()


async def test_lane_file_of_first_format_keeps_all_its_content(tmp_path: Path) -> None:
    with FleetFolder(tmp_path / "node") as folder:
        connection = sqlite3.connect(folder.store_path)
        migrate(connection, read_migrations(MIGRATIONS)[:1])
        connection.execute("INSERT INTO setting VALUES (1, 'a', '1'), (2, 'a', '2')")
        connection.commit()
        connection.close()
        lane = open_lane(folder).lane
        await lane.store(1).commit(Changes({"b": 3}))
        assert lane.store(1).load().settings == {"a": 1, "b": 3}
        assert lane.store(2).load().settings == {"a": 2}
        await lane.close()


async def test_batch_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    with FleetFolder(tmp_path / "node") as folder:
        await fill(folder, 1)
        connection = sqlite3.connect(folder.store_path)
        connection.execute("INSERT INTO recent VALUES (1, '{\"1\": 5}')")
        connection.commit()
        connection.close()
        opened = open_lane(folder)
        assert "last good snapshot" in opened.troubles["recovery"]
        assert opened.lane.store(1).load().settings == {"a": 1}
        await opened.lane.close()


async def test_lane_damage_without_snapshot_is_reported(tmp_path: Path) -> None:
    with FleetFolder(tmp_path / "node") as folder:
        folder.store_path.write_bytes(b"rubbish" * 5000)
        with pytest.raises(StoreDamaged, match="no intact snapshot"):
            open_lane(folder)


async def test_file_that_others_write_to_while_it_is_in_use_is_noticed(tmp_path: Path) -> None:
    with FleetFolder(tmp_path / "node") as folder:
        lane = open_lane(folder).lane
        await lane.store(1).commit(Changes({"a": 1}))
        folder.store_path.unlink()
        for number in (1, 2):
            with pytest.raises(StoreUnavailable, match="was removed while"):
                await lane.store(number).commit(Changes({"a": 2}))
        await lane.close()


def test_one_node_at_a_time_uses_a_folder(tmp_path: Path) -> None:
    with FleetFolder(tmp_path), pytest.raises(FolderInUse):
        FleetFolder(tmp_path)
