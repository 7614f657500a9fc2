"""Run a job's step on a controller exactly once, however often it is requested.

The commit that makes the change also writes a row with the id of the step and its result, so
neither exists without the other. A repeated request with the same id gets the result from that row,
even after the node was killed and another node resumed the job. A rejected step writes only its
row. An undecided step (nothing can be written now, or the controller is off) writes no row and is
requested again with the same id.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from leverframe.core.engine.journal import Cause
from leverframe.core.errors import ErrorForPeople
from leverframe.core.runtime.event_loop import wait_for_turn
from leverframe.core.runtime.log_lines import finish_within
from leverframe.fleet.bulk import DONE, NOT_SAVED, MemberResult, check_that_it_runs, refusal_result
from leverframe.fleet.member import Member, check_that_all_are_here
from leverframe.fleet.records import Moved, Registry, is_seen, tenant_within
from leverframe.host.controller import Controller
from leverframe.host.controller.commit_path import Command, NeedsHashing
from leverframe.host.controller.hooks import ControllerElsewhere
from leverframe.interface.table.lookup import Account
from leverframe.interface.table.refusals import Refusal
from leverframe.server.passwords import Passwords
from leverframe.storage.store import StoreUnavailable

_PREFIX = "job."
#: From this status on, the result of a step is unknown or undecided.
UNDECIDED = 500
GONE = 404

#: Creates the calls of a step from the controller's current state, when the step runs.
Calls = Callable[[Controller], list[Command]]


class JobStep(Struct, frozen=True, forbid_unknown_fields=True):
    """A step that is done only once: its id and its requester."""

    job: str
    #: The number of the try, or a mark that the step undoes the change.
    part: str
    by: Account
    source: str

    @property
    def row(self) -> str:
        return f"{_PREFIX}{self.job}.{self.part}"

    @property
    def cause(self) -> Cause:
        name = self.by.name
        return Cause("command", f"{name} {self.source}".strip(), name, self.source)


class MemberSteps:
    """Runs steps on the controllers of this node."""

    def __init__(self, registry: Registry, passwords: Passwords) -> None:
        self._registry = registry
        self._passwords = passwords
        self._under_way: dict[tuple[int, str], asyncio.Future[MemberResult]] = {}

    async def carry_out(self, member: Member, step: JobStep, calls: Calls) -> MemberResult:
        """Run a step, or return its recorded result."""
        if not is_seen(tenant_within(step.job) or None, member.record.tenant):
            # The controller belongs to another tenant by now.
            return missing_result(member.name)
        self._registry.note_step(step.job)
        key = member.number, step.row
        under_way = self._under_way.get(key)
        if under_way is None:
            work = finish_within(member.entrance.logged, self._once(member, step, calls))
            under_way = self._under_way[key] = asyncio.ensure_future(work)
            under_way.add_done_callback(partial(self._forget_outcome, key))
        return await asyncio.shield(under_way)

    def _forget_outcome(self, key: tuple[int, str], _: asyncio.Future[MemberResult]) -> None:
        del self._under_way[key]

    async def _once(self, member: Member, step: JobStep, calls: Calls) -> MemberResult:
        persistent, row = member.controller.persistent, step.row
        try:
            check_that_all_are_here([member])
            known = persistent.values.get(row)
            if known is not None:
                if row in persistent.missing():
                    await persistent.persist({row: known})
                return MemberResult(member.name, known["status"], known.get("detail"))
            try:
                check_that_it_runs(member.controller)
                await self._perform(member, step, calls)
            except (ControllerElsewhere, Moved):
                raise Moved(member.name) from None
            except Refusal as refusal:
                result = refusal_result(member, refusal)
                if result.status < UNDECIDED or row in persistent.values:
                    await persistent.persist({row: _row_of(result)})
                return result
        except Moved as moved:
            return refusal_result(member, moved)
        except StoreUnavailable as error:
            return MemberResult(member.name, NOT_SAVED, str(error))
        except ErrorForPeople as error:
            return MemberResult(member.name, 400, str(error))
        return MemberResult(member.name, DONE)

    async def _perform(self, member: Member, step: JobStep, calls: Calls) -> None:
        controller = member.controller
        hashes: dict[str, str] = {}
        also = {**self._find_forgotten_rows(controller), step.row: {"status": DONE}}
        while True:
            # Let other requests have their turn: steps may repeat often, and a template is slow to
            # apply.
            await wait_for_turn()
            # The controller may have left this node during the wait or the hashing.
            check_that_all_are_here([member])
            try:
                outstanding = controller.submit(
                    calls(controller), step.cause, hashes, account=step.by, also=also
                )
                break
            except NeedsHashing as needed:
                for password in needed.passwords:
                    hashes[password] = await self._passwords.hash(password)
        assert outstanding is not None  # writing the row is under way
        await outstanding.finish()

    def _find_forgotten_rows(self, controller: Controller) -> Mapping[str, None]:
        """Return the rows of deleted jobs; the next change deletes these rows."""
        known = self._registry.job_ids_in_use()
        return {
            name: None
            for name, value in controller.persistent.values.items()
            if name.startswith(_PREFIX) and value is not None and _job_of(name) not in known
        }


def missing_result(name: str) -> MemberResult:
    return MemberResult(name, GONE, "The controller no longer exists.")


def _job_of(row: str) -> str:
    return row.removeprefix(_PREFIX).rpartition(".")[0]


def _row_of(result: MemberResult) -> dict[str, Any]:
    return {"status": result.status, "detail": result.detail}
