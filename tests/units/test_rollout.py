"""Plans on many units: the first ones first, and nothing after a failure."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from leverframe.units.execution import ApplyStopped, RolledOut, choose_canaries, roll_out
from leverframe.units.unit_plan import UnitPlan
from tests.units.empty_plan import empty_plan

UNITS = [empty_plan(name) for name in "abcdef"]


class Bench:
    def __init__(self, *bad: str) -> None:
        self.begun: list[str] = []
        self.running = self.most_running = 0
        self._bad = bad

    async def apply(self, one: UnitPlan) -> None:
        self.begun.append(one.unit)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        if one.unit in self._bad:
            self.running -= 1
            raise ApplyStopped(f"{one.unit} failed")
        await self._others()
        self.running -= 1

    async def _others(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)


def outcome(results: list[RolledOut]) -> dict[str, str]:
    return {one.unit: one.trouble for one in results}


async def test_units_are_done_in_batches_after_those_that_are_tried_first() -> None:
    bench = Bench()
    results = await roll_out(UNITS, bench.apply, canaries=UNITS[:1], batch=3)
    assert bench.begun == list("abcdef")
    assert bench.most_running == 3
    assert outcome(results) == dict.fromkeys("abcdef", "")


@pytest.mark.parametrize("batch", [1, 4])
async def test_canary_that_fails_stops_the_rest(batch: int) -> None:
    bench = Bench("b")
    results = await roll_out(UNITS, bench.apply, canaries=UNITS[:2], batch=batch)
    assert bench.begun == ["a", "b"]
    assert outcome(results) == {"a": "", "b": "b failed", **dict.fromkeys("cdef", "not started")}
    assert [one.is_begun for one in results] == [True, True, *[False] * 4]


async def test_batch_is_ended_and_the_next_not_begun_where_one_of_it_failed() -> None:
    bench = Bench("a")
    results = await roll_out(UNITS, bench.apply, batch=2)
    assert bench.begun == ["a", "b"]
    assert outcome(results)["b"] == ""


@pytest.mark.parametrize(("answer", "begun"), [(True, "abcdef"), (False, "ab")])
async def test_confirmation_is_requested_after_the_canaries(answer: bool, begun: str) -> None:
    asked: list[int] = []
    bench = Bench()

    def may_continue(left: int) -> bool:
        asked.append(left)
        return answer

    await roll_out(UNITS, bench.apply, canaries=UNITS[:2], may_continue=may_continue)
    assert (asked, "".join(bench.begun)) == ([4], begun)


async def test_confirmation_is_not_requested_if_all_units_are_canaries() -> None:
    def refuse(left: int) -> bool:
        raise AssertionError

    ask: Callable[[int], bool] = refuse
    assert len(await roll_out(UNITS, Bench().apply, canaries=UNITS, may_continue=ask)) == 6


async def test_mistake_of_the_program_is_not_taken_for_a_stop() -> None:
    async def fail(one: UnitPlan) -> None:
        raise KeyError(one.unit)

    with pytest.raises(KeyError):
        await roll_out(UNITS, fail)


VERSIONS = [("3.0", "1.58a"), ("3.9", "1.75"), ("3.0", "1.58a"), ("3.9", "1.49")]
MIXED = [
    replace(empty_plan(name), hw=hw, sw=sw) for name, (hw, sw) in zip("abcd", VERSIONS, strict=True)
]


def test_canaries_are_the_first_ones_one_of_each_version_or_a_group() -> None:
    assert [plan.unit for plan in choose_canaries(MIXED, 2)] == ["a", "b"]
    assert [plan.unit for plan in choose_canaries(MIXED, "versions")] == ["a", "b", "d"]
    assert [plan.unit for plan in choose_canaries(MIXED, 0, {"c", "http://d"})] == ["c", "d"]


async def test_canaries_that_are_not_the_first_units_are_done_before_them() -> None:
    bench = Bench("d")
    results = await roll_out(MIXED, bench.apply, canaries=choose_canaries(MIXED, "versions"))
    assert bench.begun == ["a", "b", "d"]
    assert outcome(results) == {"a": "", "b": "", "d": "d failed", "c": "not started"}
