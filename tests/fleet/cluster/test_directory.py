"""The directory: the node of a controller, and waiting for one."""

import asyncio

from leverframe.fleet.cluster.directory import Directory, Place

A, B = Place("a", "127.0.0.1", 1), Place("b", "127.0.0.1", 2)


def fill_directory() -> Directory:
    directory = Directory("a")
    directory.replace({"gh-1": "a", "gh-2": "b", "gh-3": None, "gh-4": "c"}, {"a": A, "b": B})
    return directory


def test_directory_returns_the_place_of_a_controller() -> None:
    directory = fill_directory()
    assert [directory.place_of(f"gh-{n}") for n in (1, 2, 3, 4, 5)] == [A, B, None, None, None]
    assert [directory.is_mine(f"gh-{n}") for n in (1, 2, 3)] == [True, False, False]
    assert [directory.knows(f"gh-{n}") for n in (3, 5)] == [True, False]


async def test_waiter_resumes_as_soon_as_the_place_is_known() -> None:
    directory = fill_directory()

    def is_at_b() -> bool:
        return directory.place_of("gh-3") == B

    assert not await directory.wait_until(is_at_b, "gh-3", 0.001)
    waiting = asyncio.create_task(directory.wait_until(is_at_b, "gh-3", 60))
    await asyncio.sleep(0)
    assert directory.awaited["gh-3"] == 1
    directory.replace({"gh-3": "b"}, {"a": A, "b": B})
    assert await waiting
    assert not directory.awaited


async def test_unchanged_directory_wakes_no_waiter() -> None:
    directory = fill_directory()
    looked = []

    def look() -> bool:
        looked.append(1)
        return False

    waiting = asyncio.create_task(directory.wait_until(look, "gh-3", 60))
    await asyncio.sleep(0)
    directory.replace(dict(directory.owners), {"a": A, "b": B})
    await asyncio.sleep(0)
    assert len(looked) == 1
    directory.wake()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(looked) == 2
    waiting.cancel()


async def test_opened_controller_wakes_only_the_requests_that_wait_for_it() -> None:
    directory, looked = fill_directory(), list[str]()

    def look(name: str) -> bool:
        looked.append(name)
        return False

    names = ("gh-3", "gh-3", "gh-4")
    waiting = [
        asyncio.create_task(directory.wait_until(lambda one=name: look(one), name, 60))
        for name in names
    ]
    await asyncio.sleep(0)
    looked.clear()
    directory.note_open("gh-3")
    directory.note_open("gh-5")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert looked == ["gh-3", "gh-3"]
    for one in waiting:
        one.cancel()
    await asyncio.wait(waiting)
    assert not directory.awaited
