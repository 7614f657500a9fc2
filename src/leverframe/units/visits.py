"""Visit several units in parallel, each with one request at a time; report failures last."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol, TypeVar

from leverframe.errors import ErrorForPeople
from leverframe.plain_text import print_warnings
from leverframe.process.json_lines import print_json
from leverframe.recording.replayer import UnitLogin
from leverframe.units.client import open_paced_client
from leverframe.units.inventory import InventoryUnit
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.pulling import pull_unit
from leverframe.units.summaries import failures_in_words

#: Units visited in parallel; each has one connection.
MAX_AT_ONCE = 8


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Unit = TypeVar("_Unit", bound=_Named)
_Result = TypeVar("_Result")


class FailedUnit(NamedTuple):
    name: str
    problem: str

    def __str__(self) -> str:
        # Many problems begin with the address, which is also the name of a nameless unit.
        where = self.name.partition("://")[2] or self.name
        return self.problem if where in self.problem else f"{self.name}: {self.problem}"


async def visit_units(
    units: Sequence[_Unit], visit: Callable[[_Unit], Awaitable[_Result]]
) -> tuple[list[_Result], list[FailedUnit]]:
    """Visit units; return the results, and the units whose visit failed, both in their order."""
    turns = asyncio.Semaphore(MAX_AT_ONCE)
    with _progress(len(units)) as advance:

        async def one(unit: _Unit) -> tuple[_Result] | FailedUnit:
            async with turns:
                try:
                    return (await visit(unit),)
                except ErrorForPeople as error:
                    return FailedUnit(unit.name, str(error))
                finally:
                    advance(1)

        found = await asyncio.gather(*map(one, units))
    results = [one[0] for one in found if not isinstance(one, FailedUnit)]
    return results, [one for one in found if isinstance(one, FailedUnit)]


def _progress(count: int) -> AbstractContextManager[Callable[[int], None]]:
    """Show a progress bar for several units."""
    if count < 2:
        return nullcontext(lambda visited: None)
    # Imported here: the import takes as long as a request to a unit.
    from leverframe.process.progress_bar import progress_bar

    return progress_bar("reading", count)


async def read_unit(
    unit: InventoryUnit, login: UnitLogin | None, ca_file: str | None
) -> PulledUnit:
    """Read the settings of a unit; reject another unit at its address."""
    async with open_paced_client(unit.address, login, ca_file) as client:
        return await pull_unit(client, mac=unit.mac)


def print_failures(
    failed: Sequence[FailedUnit], total: int, action: str, *, as_json: bool = False
) -> None:
    """Report units that were not reached on standard error, with --json also as objects."""
    if as_json:
        for one in failed:
            print_json({"event": "failed", "unit": one.name, "problem": one.problem})
    if len(failed) == total == 1:
        print_warnings(map(str, failed))
    elif failed:
        print_warnings(failures_in_words(failed, total, action))
