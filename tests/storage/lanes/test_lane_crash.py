"""What is on the disk of a node when the power goes: every controller's acknowledged changes.

A crash is played as in `test_sqlite_crash.py`: by copying the files of a running lane, sometimes
with the log cut short, and opening the copy.
"""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.storage import statements
from leverframe.storage.lanes import sqlite_lane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.sqlite_log import read_salts, recoverable_frames
from leverframe.storage.statements import ENOUGH, ROWS_TOGETHER
from leverframe.storage.store import Changes, Rows
from leverframe.storage.writer import Writer
from tests.effort import examples
from tests.storage.test_sqlite_crash import LOG_FRAME, LOG_HEADER, copy_as_after_a_crash
from tests.storage.test_store_contract import CHANGES, Model

CONTROLLERS = (1, 2, 3)
#: Changes of one list are made without waiting in between, so that they share transactions.
BURSTS = st.lists(
    st.lists(st.tuples(st.sampled_from(CONTROLLERS), CHANGES), max_size=6), max_size=4
)


def open_lane(path: Path) -> SqliteLane:
    return SqliteLane(path, path.with_name("fleet.key"))


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def frames_of(path: Path) -> int:
    with log_of(path).open("rb") as file:
        return recoverable_frames(file)


async def assert_holds(path: Path, models: dict[int, Model]) -> None:
    lane = open_lane(path)
    for controller, model in models.items():
        await model.assert_equals(lane.store(controller))
    await lane.close()


@examples(40)
@given(
    bursts=BURSTS,
    enough=st.sampled_from((1, 100, ENOUGH)),
    together=st.sampled_from((1, ROWS_TOGETHER)),
)
def test_crash_after_any_batch_loses_nothing_of_any_controller(
    tmp_path_factory: pytest.TempPathFactory,
    bursts: list[list[tuple[int, Changes]]],
    enough: int,
    together: int,
) -> None:
    folder = tmp_path_factory.mktemp("lane")

    async def live_and_crash() -> None:
        lane = open_lane(folder / "fleet.db")
        writers = {controller: Writer(lane.store(controller)) for controller in CONTROLLERS}
        models = {controller: Model() for controller in CONTROLLERS}
        for number, burst in enumerate(bursts):
            futures = [writers[controller].commit(changes) for controller, changes in burst]
            for controller, changes in burst:
                models[controller].apply(changes)
            await asyncio.gather(*futures)
            copy = copy_as_after_a_crash(folder / "fleet.db", folder / str(number))
            if (key := folder / "fleet.key").exists():
                shutil.copy(key, copy.with_name(key.name))
            await assert_holds(copy, models)
        await lane.close()
        await assert_holds(folder / "fleet.db", models)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_lane, "ENOUGH", enough)
        patch.setattr(statements, "ROWS_TOGETHER", together)
        patch.setattr(statements, "LETTERS_TOGETHER", together)
        asyncio.run(live_and_crash())


async def test_log_cut_anywhere_leaves_whole_batches_of_all_controllers(tmp_path: Path) -> None:
    lane = open_lane(tmp_path / "fleet.db")
    states: list[dict[int, Any]] = [{}]
    for number in range(1, 6):
        changes = Changes({f"s.{number}": "x" * 2000, "n": number}, {"n": number})
        commits = (lane.store(controller).commit(changes) for controller in CONTROLLERS)
        await asyncio.gather(*commits)
        states.append(await lane.fetch(CONTROLLERS))
    assert lane.transactions == len(states) - 1
    copy = copy_as_after_a_crash(tmp_path / "fleet.db", tmp_path / "crashed")
    await lane.close()
    main, log = copy.read_bytes(), log_of(copy).read_bytes()
    found = []
    for length in range(LOG_HEADER, len(log) + 1, LOG_FRAME):
        restart = tmp_path / f"restart{length}" / "fleet.db"
        restart.parent.mkdir()
        restart.write_bytes(main)
        log_of(restart).write_bytes(log[:length])
        again = open_lane(restart)
        fetched = await again.fetch(CONTROLLERS)
        found.append(states.index(fetched if any(one.kept for one in fetched.values()) else {}))
        await again.close()
        shutil.rmtree(restart.parent)
    assert found == sorted(found)
    assert set(found) == set(range(len(states)))


def one_row_each(number: int) -> dict[int, Rows]:
    rows = Rows(settings={"a": str(number)}, kept={f"audit.{number:012d}": '"x"' * 40})
    return dict.fromkeys(range(1, 101), rows)


def test_log_stays_small_though_rows_of_controllers_lie_apart(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    lane, sizes = open_lane(path), list[int]()
    for number in range(60):
        lane.write_parts(one_row_each(number))
        lane.fill_tables()
        sizes.append(log_of(path).stat().st_size)
    lane.release()
    assert max(sizes) < 8 * 1024 * 1024


def test_batch_changes_fewer_pages_than_it_has_controllers(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    lane = open_lane(path)
    for number in range(30):
        lane.write_parts(one_row_each(number))
    # The rows of each controller fill pages of their own now.
    lane.fill_tables()
    lane.write_parts(one_row_each(30))
    salts, before = read_salts(log_of(path)), frames_of(path)
    lane.write_parts(one_row_each(31))
    # A log that is in the main file already begins again with the next batch.
    pages = frames_of(path) - (before if read_salts(log_of(path)) == salts else 0)
    lane.release()
    assert 0 < pages < 20
