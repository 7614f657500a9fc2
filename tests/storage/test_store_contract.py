"""What every store promises, asked of each of them with the same questions."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.storage.lanes.lane import GroupCommitLane, LaneStore, MemoryLane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.sqlite import ReadOnlyStore, SqliteStore
from leverframe.storage.store import DELETED, Changes, MemoryStore, Rows, Store, StoreUnavailable
from leverframe.storage.writer import Writer
from tests.cases import for_each
from tests.effort import examples
from tests.storage.lanes.postgres_lanes import postgres_lane

Opener = Callable[[Path], Store]


class PartOfLane(LaneStore):
    """A part of a lane that closes the lane with it."""

    def __init__(self, lane: GroupCommitLane, controller: int) -> None:
        super().__init__(lane, controller, lane.sealer(controller))

    async def close(self) -> None:
        await self._lane.close()


#: A memory store is asked in the same words; it just has no use for the folder.
OPENERS: dict[str, Opener] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SqliteStore(folder / "store.db"),
    "memory lane": lambda folder: MemoryLane().store(7),
    "sqlite lane": lambda folder: PartOfLane(SqliteLane(folder / "fleet.db", folder / "key"), 7),
    "postgres lane": lambda folder: PartOfLane(postgres_lane(folder), 7),
}
REFUSAL = "The disk is read-only."
#: Stores that are asked only for what holds without anything being written.
READING: dict[str, Opener] = OPENERS | {"read-only": lambda folder: ReadOnlyStore(Rows(), REFUSAL)}
each_opener = pytest.mark.parametrize("opener", OPENERS.values(), ids=list(OPENERS))


@pytest.fixture(params=OPENERS.values(), ids=list(OPENERS))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = request.param(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(params=READING.values(), ids=list(READING))
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = request.param(tmp_path)
    yield opened
    await opened.close()


async def test_new_store_is_empty(any_store: Store) -> None:
    stored = any_store.load()
    assert (stored.settings, stored.kept, await any_store.blob("picture")) == ({}, {}, None)
    assert any_store.messages() == {}


async def test_settings_kept_values_and_uploads_come_back(store: Store) -> None:
    await store.commit(
        Changes(
            settings={"outputs.3.name": "Pump", "pid.target": 21.5},
            kept={"energy.0": 12.345, "output.2": True},
            blobs={"picture": b"\x89PNG\x00"},
        )
    )
    stored = store.load()
    assert stored.settings == {"outputs.3.name": "Pump", "pid.target": 21.5}
    assert stored.kept == {"energy.0": 12.345, "output.2": True}
    assert await store.blob("picture") == b"\x89PNG\x00"


async def test_rows_of_the_audit_trail_are_read_apart(store: Store) -> None:
    kept = {"audit.000000000001": "[1]", "deed.000000000002": "[2]", "auditor": 3, "energy.0": 4}
    await store.commit(Changes(kept=kept | {"deed.000000000003": "[3]"}))
    await store.commit(Changes(kept={"deed.000000000003": DELETED}))
    stored = store.load()
    assert stored.kept == {"auditor": 3, "energy.0": 4}
    assert sorted(stored.audit) == ["audit.000000000001", "deed.000000000002"]
    assert await store.audit() == {"audit.000000000001": "[1]", "deed.000000000002": "[2]"}
    assert await store.audit("deed.") == {"deed.000000000002": "[2]"}


@for_each("value", [None, False, 0, -1, 1.0, 2**53, "", 'a"\\\n\0é🚂', [1, [2]], {"a": {}}])
async def test_value_keeps_its_type(store: Store, value: Any) -> None:
    await store.commit(Changes(settings={"x": value}, kept={"x": value}))
    for found in (store.load().settings["x"], store.load().kept["x"]):
        assert found == value
        assert type(found) is type(value)


async def test_later_commit_overwrites_and_leaves_the_rest(store: Store) -> None:
    await store.commit(Changes(settings={"a": 1, "b": 2}))
    await store.commit(Changes(settings={"a": 3}))
    assert store.load().settings == {"a": 3, "b": 2}


async def test_deleted_rows_are_gone_and_missing_ones_may_be_deleted(store: Store) -> None:
    await store.commit(Changes(settings={"a": 1, "b": 2}, kept={"c": 3}))
    await store.commit(Changes(settings={"a": DELETED, "never": DELETED}, kept={"c": DELETED}))
    stored = store.load()
    assert (stored.settings, stored.kept) == ({"b": 2}, {})


async def test_replacing_settings_leaves_only_the_new_ones_and_touches_nothing_else(
    store: Store,
) -> None:
    await store.commit(Changes(settings={"a": 1, "b": 2}, kept={"c": 3}, blobs={"site": b"x"}))
    await store.commit(Changes(settings={"b": 4}, replace_settings=True))
    stored = store.load()
    assert (stored.settings, stored.kept, await store.blob("site")) == ({"b": 4}, {"c": 3}, b"x")


async def test_upload_is_replaced_and_removed(store: Store) -> None:
    await store.commit(Changes(blobs={"picture": b"old", "site": b"s"}))
    await store.commit(Changes(blobs={"picture": b"new"}))
    assert await store.blob("picture") == b"new"
    await store.commit(Changes(blobs={"picture": None, "never": None}))
    assert (await store.blob("picture"), await store.blob("site")) == (None, b"s")


async def test_empty_upload_is_an_upload(store: Store) -> None:
    await store.commit(Changes(blobs={"site": b""}))
    assert await store.blob("site") == b""


async def test_commits_take_effect_in_the_order_of_the_calls(store: Store) -> None:
    writer = Writer(store)
    futures = [writer.commit(Changes(settings={"n": n, f"own.{n}": n})) for n in range(50)]
    futures.append(writer.commit(Changes(settings={"last": 1}, replace_settings=True)))
    futures.append(writer.commit(Changes(settings={"n": "after", "last": DELETED})))
    await asyncio.gather(*futures)
    assert store.load().settings == {"n": "after"}


async def test_commit_of_nothing_succeeds(store: Store) -> None:
    await store.commit(Changes())


@pytest.mark.parametrize("name", ["nul\0", "line\n", "half\ud800"])
async def test_unprintable_name_is_refused_immediately(any_store: Store, name: str) -> None:
    for changes in (Changes({"good": 1, name: 1}), Changes({"good": 1}, {}, {name: b""})):
        with pytest.raises(ValueError, match="printable characters only"):
            await any_store.commit(changes)
    assert any_store.load().settings == {}


async def test_value_that_json_cannot_express_is_refused_immediately(any_store: Store) -> None:
    with pytest.raises(TypeError):
        await any_store.commit(Changes(settings={"good": 1, "bad": object()}))
    assert any_store.load().settings == {}


async def test_store_that_cannot_be_written_says_so_and_changes_nothing() -> None:
    store = ReadOnlyStore(Rows(), REFUSAL)
    with pytest.raises(StoreUnavailable, match=REFUSAL):
        await store.commit(Changes(settings={"a": 1}, kept={"b": 2}, blobs={"site": b"3"}))
    assert (store.load().settings, store.load().kept, await store.blob("site")) == ({}, {}, None)


async def test_messages_come_back_in_order_until_they_are_removed(store: Store) -> None:
    await store.commit(Changes(messages={10: {"text": "b"}, 9: {"text": "a"}, 2**40: []}))
    assert list(store.messages().items()) == [(9, {"text": "a"}), (10, {"text": "b"}), (2**40, [])]
    await store.commit(Changes(messages={9: DELETED, 10: {"text": "c"}, 11: DELETED}))
    assert store.messages() == {10: {"text": "c"}, 2**40: []}


@each_opener
async def test_closing_twice_is_harmless(opener: Opener, tmp_path: Path) -> None:
    store = opener(tmp_path)
    await store.close()
    await store.close()


NAMES = st.sampled_from(["a", "outputs.3.name", 'q"\\', "ä.🚂", " "]) | st.text(
    st.characters(exclude_categories=["C", "Z"])
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.dictionaries(NAMES, VALUES | st.just(DELETED), max_size=4)
CHANGES = st.builds(
    Changes,
    settings=ROWS,
    kept=ROWS,
    blobs=st.dictionaries(st.sampled_from(["picture", "site"]), st.none() | st.binary()),
    replace_settings=st.booleans(),
    messages=st.dictionaries(st.integers(1, 5), VALUES | st.just(DELETED), max_size=4),
)
#: Commits of one list are made without waiting in between, so that they share transactions.
BURSTS = st.lists(st.lists(CHANGES, max_size=4), max_size=4)


class Model:
    """The contract once more, one change after the other on plain dictionaries."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.kept: dict[str, Any] = {}
        self.blobs: dict[str, bytes] = {}
        self.messages: dict[int, Any] = {}

    def apply(self, changes: Changes) -> None:
        if changes.replace_settings:
            self.settings = {}
        self._write(self.settings, changes.settings, DELETED)
        self._write(self.kept, changes.kept, DELETED)
        self._write(self.blobs, changes.blobs, None)
        self._write(self.messages, changes.messages, DELETED)

    def _write(self, rows: dict[Any, Any], changed: dict[Any, Any], removed: object) -> None:
        for name, value in changed.items():
            if value is removed:
                rows.pop(name, None)
            else:
                rows[name] = value

    async def assert_equals(self, store: Store) -> None:
        stored = store.load()
        assert same(stored.settings, self.settings)
        assert same(stored.kept, self.kept)
        assert same(store.messages(), self.messages)
        found = {name: await store.blob(name) for name in ("picture", "site")}
        assert {name: data for name, data in found.items() if data is not None} == self.blobs


def same(found: Any, expected: Any) -> bool:
    """Equal, with 0.0 and -0.0, 1 and 1.0 and True distinguished."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            same(found[k], expected[k]) for k in expected
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float) and math.copysign(1, found) != math.copysign(1, expected):
        return False
    return type(found) is type(expected) and bool(found == expected)


async def replay(store: Store, bursts: list[list[Changes]], model: Model) -> None:
    writer = Writer(store)
    for burst in bursts:
        futures = [writer.commit(changes) for changes in burst]
        for changes in burst:
            model.apply(changes)
        await asyncio.gather(*futures)
        await model.assert_equals(store)


@examples(60)
@given(bursts=BURSTS)
def test_memory_store_holds_what_a_replay_gives(bursts: list[list[Changes]]) -> None:
    asyncio.run(replay(MemoryStore(), bursts, Model()))


@examples(60)
@given(bursts=BURSTS)
def test_sqlite_store_holds_what_a_replay_gives_also_after_reopening(
    tmp_path_factory: pytest.TempPathFactory, bursts: list[list[Changes]]
) -> None:
    path = tmp_path_factory.mktemp("replayed") / "store.db"

    async def replay_and_reopen() -> None:
        model = Model()
        store = SqliteStore(path)
        await replay(store, bursts, model)
        await store.close()
        reopened = SqliteStore(path)
        await model.assert_equals(reopened)
        await reopened.close()

    asyncio.run(replay_and_reopen())
