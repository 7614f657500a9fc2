"""Futures of what is on its way: whoever gave up waiting disturbs nobody."""

import asyncio

import pytest

from leverframe.controller.on_disk import pass_on, refuse
from leverframe.storage.store import StoreUnavailable

REFUSAL = StoreUnavailable("The disk is full.")


def future() -> "asyncio.Future[None]":
    return asyncio.get_running_loop().create_future()


def given_up() -> "asyncio.Future[None]":
    cancelled = future()
    cancelled.cancel()
    return cancelled


async def test_a_refusal_that_nobody_waits_for_is_still_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refuse(given_up(), REFUSAL)
    assert "a change is not on disk: The disk is full." in caplog.text


@pytest.mark.parametrize("error", [None, REFUSAL])
async def test_what_is_kept_is_passed_on_to_nobody_who_has_left(
    error: StoreUnavailable | None,
) -> None:
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    pass_on(given_up(), None)
    kept = future()
    pass_on(given_up(), kept)
    if error is None:
        kept.set_result(None)
    else:
        kept.set_exception(error)
    await asyncio.wait([kept])
    await asyncio.sleep(0)
    assert faults == []


async def test_what_is_kept_is_done_also_if_another_one_gave_up_waiting_for_it() -> None:
    done, kept = future(), future()
    pass_on(done, kept)
    kept.cancel()
    async with asyncio.timeout(5):
        await done
