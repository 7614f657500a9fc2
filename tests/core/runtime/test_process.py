"""Functions in processes of their own: results, refusals, limits, and how they end."""

import asyncio
import os
import resource
import signal
import sys
from ast import literal_eval
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import MappingProxyType

import pytest

from leverframe.core.runtime.bounded_work import (
    MIB,
    NoProcess,
    OverBudget,
    WorkBudget,
    WorkFailed,
    WorkRefused,
    run_bounded,
)
from tests.cases import for_each
from tests.patience import PATIENCE_S

from . import functions

USUAL = WorkBudget(wall_s=PATIENCE_S)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(0.01)


async def wait_for_process(path: Path) -> int:
    """Return the number of a process as soon as it has written it."""
    await until(path.exists)
    return int(await asyncio.to_thread(path.read_text))


async def test_result_of_a_function_comes_back() -> None:
    assert await run_bounded(functions.join_texts, "a", "b", budget=USUAL) == b"a,b"
    assert await run_bounded(functions.print_much, budget=USUAL) == b"the result"


async def test_interpreter_without_memory_for_an_error_is_over_its_budget() -> None:
    with pytest.raises(OverBudget, match="MiB of memory"):
        await run_bounded(functions.abort, budget=USUAL)


async def test_read_only_mappings_can_be_sent() -> None:
    given = MappingProxyType({"a": 1, "b": 2})
    assert (
        await run_bounded(functions.show_mapping, given, budget=USUAL)
        == b"mappingproxy({'a': 1, 'b': 2})"
    )


async def pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield bytes(MIB)


async def test_fed_input_arrives_piece_by_piece() -> None:
    found = await run_bounded(functions.count_pieces, "n", budget=USUAL, fed=pieces(5))
    assert found == b"n %d" % (5 * MIB)


async def test_function_that_ignores_what_it_is_fed_still_answers() -> None:
    found = await run_bounded(functions.ignore_pieces, budget=USUAL, fed=pieces(5))
    assert len(found) == 1_000_000


async def test_feed_that_fails_ends_the_process_with_its_error() -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"one"
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        await run_bounded(functions.count_pieces, "n", budget=USUAL, fed=failing())


async def test_refusal_comes_back_as_its_sentence() -> None:
    with pytest.raises(WorkRefused, match="Line 3 is no TOML\\."):
        await run_bounded(functions.refuse, "Line 3 is no TOML.", budget=USUAL)


async def test_fault_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(WorkFailed) as failure:
        await run_bounded(functions.fail, budget=USUAL)
    assert "secret detail" not in str(failure.value)
    assert "RuntimeError: secret detail" in caplog.text


@for_each(
    ("function", "values", "budget", "sentence"),
    [
        (functions.take_memory, (), WorkBudget(PATIENCE_S, 20, 128 * MIB), "128 MiB of memory"),
        (functions.compute_forever, (), WorkBudget(PATIENCE_S, 1), "1 s of computing"),
        (functions.compute_forever, (), WorkBudget(0.2), "longer than 0.2 s"),
        (functions.write_much, (3 * MIB,), WorkBudget(PATIENCE_S, result_bytes=MIB), "1 MiB"),
    ],
)
async def test_work_over_its_budget_ends_with_a_sentence(
    function: Callable[..., bytes], values: tuple[int, ...], budget: WorkBudget, sentence: str
) -> None:
    with pytest.raises(OverBudget, match=sentence):
        await run_bounded(function, *values, budget=budget)


async def test_process_is_limited_and_leaves_time_to_others() -> None:
    found = await run_bounded(functions.report_surroundings, budget=USUAL)
    limits, niceness, has_asyncio, has_current_folder = literal_eval(found.decode())
    assert limits == [USUAL.memory_bytes, USUAL.cpu_s, 0]
    assert niceness >= 5
    assert not has_asyncio
    assert not has_current_folder


async def test_cancelled_task_ends_its_process(tmp_path: Path) -> None:
    path = tmp_path / "process"
    work = asyncio.create_task(run_bounded(functions.report_and_wait, str(path), budget=USUAL))
    process = await wait_for_process(path)
    assert is_alive(process)
    work.cancel()
    await asyncio.wait([work])
    assert work.cancelled()
    assert not is_alive(process)


PARENT = """
import asyncio, sys
sys.path.insert(0, sys.argv[2])
from leverframe.core.runtime.bounded_work import WorkBudget, run_bounded
from tests.core.runtime.functions import report_and_wait
asyncio.run(run_bounded(report_and_wait, sys.argv[1], budget=WorkBudget(3600.0)))
"""


async def test_killed_parent_leaves_no_process_behind(tmp_path: Path) -> None:
    path = tmp_path / "process"
    project = Path(__file__).parents[3]
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(path), str(project)
    )
    process = await wait_for_process(path)
    assert is_alive(process)
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    await until(lambda: not is_alive(process))


async def test_program_without_free_descriptors_answers_with_a_sentence() -> None:
    # What the loop needs for children is there before they run out.
    await run_bounded(functions.join_texts, budget=USUAL)
    _, hard = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(NoProcess, match="Try again later"):
            await run_bounded(functions.join_texts, budget=USUAL)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
