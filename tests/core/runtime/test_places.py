"""Places for bounded work: one of a controller, fair between tenants, and a bounded line."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.runtime.bounded_work import (
    MAX_WAITING_OF_OWNER,
    MAX_WAITING_OF_TENANT,
    NoPlace,
    WorkPlaces,
    usual_places,
)
from tests.effort import examples
from tests.patience import PATIENCE_S


class Worker:
    """Work that has a place until it is ended."""

    def __init__(self, places: WorkPlaces, owner: str, tenant: str | None = None) -> None:
        self.has_place = False
        self.end = asyncio.Event()
        self.task = asyncio.create_task(self._run(places, owner, tenant))

    async def _run(self, places: WorkPlaces, owner: str, tenant: str | None) -> None:
        async with places.place(owner, tenant):
            self.has_place = True
            await self.end.wait()
        self.has_place = False


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def finish(*workers: Worker) -> None:
    for worker in workers:
        worker.end.set()
    await settle()


async def test_one_controller_has_one_place_at_a_time() -> None:
    places = WorkPlaces(4, PATIENCE_S)
    first, second = Worker(places, "a"), Worker(places, "a")
    await settle()
    assert (first.has_place, second.has_place) == (True, False)
    await finish(first)
    assert second.has_place
    await finish(second)
    assert not places.running


async def test_no_tenant_takes_the_last_place() -> None:
    places = WorkPlaces(3, PATIENCE_S)
    of_one = [Worker(places, f"a{n}", "a") for n in range(5)]
    await settle()
    assert [one.has_place for one in of_one] == [True, True, False, False, False]
    other = Worker(places, "b1", "b")
    await settle()
    assert other.has_place
    await finish(other, *of_one)


async def test_free_place_goes_to_the_tenant_with_the_fewest() -> None:
    places = WorkPlaces(2, PATIENCE_S)
    first = Worker(places, "a0", "a")
    second = Worker(places, "b0", "b")
    await settle()
    waiting = [Worker(places, f"a{n}", "a") for n in range(1, 4)]
    await settle()
    third = Worker(places, "c0", "c")
    await settle()
    await finish(second)
    assert third.has_place
    assert not any(one.has_place for one in waiting)
    await finish(first, third, *waiting)


async def test_work_that_waits_too_long_is_refused_with_a_time_to_retry() -> None:
    places = WorkPlaces(2, 0.01)
    first = Worker(places, "a")
    await settle()
    with pytest.raises(NoPlace, match="Try again in 10 s"):
        async with places.place("a"):
            pass
    await finish(first)


async def test_lines_of_a_controller_and_of_a_tenant_are_bounded() -> None:
    places = WorkPlaces(2, PATIENCE_S)
    workers = [Worker(places, "a", "t") for _ in range(1 + MAX_WAITING_OF_OWNER)]
    await settle()
    with pytest.raises(NoPlace, match="Too many long tasks are waiting"):
        async with places.place("a", "t"):
            pass
    room = MAX_WAITING_OF_TENANT - MAX_WAITING_OF_OWNER
    workers += [Worker(places, f"b{n}", "t") for n in range(room)]
    await settle()
    with pytest.raises(NoPlace, match="Too many long tasks are waiting"):
        async with places.place("c", "t"):
            pass
    async with places.place("d", "other"):
        pass
    await finish(*workers)


async def test_leaving_the_queue_gives_the_place_to_the_next() -> None:
    places = WorkPlaces(2, PATIENCE_S)
    first, second, third = (Worker(places, "a") for _ in range(3))
    await settle()
    second.task.cancel()
    first.end.set()
    await settle()
    assert third.has_place
    await finish(third)
    assert not places.running


def test_places_are_two_to_four() -> None:
    assert 2 <= usual_places() <= 4


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.booleans()), max_size=12),
    st.integers(2, 4),
)
@examples(100)
def test_places_are_never_exceeded_and_always_given_back(
    steps: list[tuple[str, int, bool]], most: int
) -> None:
    async def run() -> None:
        places = WorkPlaces(most, PATIENCE_S)
        workers: list[Worker] = []
        for tenant, number, one_leaves in steps:
            if one_leaves and workers:
                leaving = workers[number % len(workers)]
                leaving.end.set()
                if number:
                    leaving.task.cancel()
            workers.append(Worker(places, f"{tenant}{number}", tenant))
            await settle()
            assert len(places.running) <= most
        await finish(*workers)
        await asyncio.gather(*(one.task for one in workers), return_exceptions=True)
        assert not places.running

    asyncio.run(run())
