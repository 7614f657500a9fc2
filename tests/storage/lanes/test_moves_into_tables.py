"""Batches of a lane on their way into its tables: one transaction at a time, between batches."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leverframe.storage import statements
from leverframe.storage.lanes import sqlite_lane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.statements import LETTERS_TOGETHER, ROWS_TOGETHER
from leverframe.storage.store import Rows
from tests.effort import examples

CONTROLLERS = (1, 2, 3)
_TEXTS = st.sampled_from((None, '"a"', '"b"', f'"{"long" * 40}"'))
_ROWS = st.builds(
    Rows,
    # A setting that is removed goes into the tables immediately.
    settings=st.dictionaries(st.sampled_from(("s.1", "s.2")), _TEXTS, max_size=2),
    kept=st.dictionaries(st.sampled_from(("k.1", "k.2", "audit.1")), _TEXTS, max_size=2),
    messages=st.dictionaries(st.sampled_from(("1", "2")), st.none(), max_size=1),
)
_BATCHES = st.dictionaries(st.sampled_from(CONTROLLERS), _ROWS, min_size=1)

_OLD = Rows(kept={"k.1": '"a"'})
_NEW = Rows(settings={"s.1": None}, kept={"k.1": '"b"'})


class SteppedLane(SqliteLane):
    """A lane of which the test says when it does what no caller waits for."""

    def __init__(self, folder: Path) -> None:
        self.later: list[Callable[[], None]] = []
        super().__init__(folder / "fleet.db", folder / "fleet.key")

    def _do_later(self, work: Callable[[], None]) -> None:
        self.later.append(work)

    def step(self) -> None:
        if self.later:
            self.later.pop(0)()


def list_rows(lane: SqliteLane) -> dict[int, tuple[Mapping[str, str | None], ...]]:
    stored = {one: lane.rows_of(one) for one in CONTROLLERS}
    return {one: (_present(rows.settings), _present(rows.kept)) for one, rows in stored.items()}


def _present(texts: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name: text for name, text in texts.items() if text is not None}


@examples(60)
@given(
    work=st.lists(st.one_of(_BATCHES, st.none(), st.sampled_from(CONTROLLERS)), max_size=25),
    together=st.sampled_from((1, 3)),
)
# What is written or forgotten in the middle of a move counts, not what the move has read.
@example(work=[{1: _OLD}, None, {1: _NEW}, None], together=1)
@example(work=[{1: _OLD}, None, 1, None], together=1)
def test_lane_holds_every_change_at_any_step_of_a_move(
    tmp_path_factory: pytest.TempPathFactory,
    work: list[Mapping[int, Rows] | int | None],
    together: int,
) -> None:
    """Write a batch, do a step of a move (None), or forget a controller (its number)."""
    lane, model = SteppedLane(tmp_path_factory.mktemp("lane")), dict[int, Rows]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_lane, "ENOUGH", 1)
        patch.setattr(statements, "ROWS_TOGETHER", together)
        patch.setattr(statements, "LETTERS_TOGETHER", 100 * together)
        for one in work:
            if one is None:
                lane.step()
            elif isinstance(one, int):
                lane.erase([one])
                model.pop(one, None)
            else:
                lane.write_parts(one)
                for controller, rows in one.items():
                    model.setdefault(controller, Rows()).add(rows)
            expected = {number: model.get(number, Rows()) for number in CONTROLLERS}
            assert list_rows(lane) == {
                number: (_present(rows.settings), _present(rows.kept))
                for number, rows in expected.items()
            }
        while lane.later:
            lane.step()
        assert lane._recent.size == 0
    lane.release()


def test_batch_waits_for_a_part_of_a_move_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane, written = SteppedLane(tmp_path), list[int]()
    monkeypatch.setattr(sqlite_lane, "ENOUGH", 4 * LETTERS_TOGETHER)
    write = lane._file.write

    def count_rows(statements: list[tuple[str, tuple[str, ...]]], **how: bool) -> None:
        written.append(sum(text.count('"x') for _, (text,) in statements if isinstance(text, str)))
        write(statements, **how)

    number = 0
    while not lane.later:
        number += 1
        rows = Rows(kept={f"audit.{number:012d}": '"x"' + " " * 500})
        lane.write_parts(dict.fromkeys(range(1, 101), rows))
    monkeypatch.setattr(lane._file, "write", count_rows)
    while lane.later:
        # Each part plans the next one alone: batches that are queued now come before it.
        assert len(lane.later) == 1
        lane.step()
    rows_moved = [count for count in written if count]
    assert sum(rows_moved) == 100 * number
    assert max(rows_moved) < ROWS_TOGETHER + number
    assert len(written) - len(rows_moved) >= 4
    lane.release()
