"""The controllers that a node has or will have, in any state, and what is reported about each.

Running controllers are found by name. The others wait for their turn, are starting, or failed to
start. A stored controller is known by its number; a controller that is only in the fleet file is
known by its name until it is created.
"""

import re
import time
from collections.abc import Collection, Iterable, Mapping

from leverframe.fleet.lifecycle import Failed, Running, Starting
from leverframe.fleet.member import UNMADE, Member, no_such_name
from leverframe.fleet.progress import ProgressReport
from leverframe.fleet.records import MemberRecord, NotRunning, is_seen
from leverframe.interface.table.refusals import Refusal

CAUSE_WITHHELD = (
    "This controller failed to start. `leverframe fleet list` and the page of the node show the"
    " operator why."
)
_NUMBER = re.compile(r"\d+")


class NodeStarting(Refusal):
    status = 503
    title = "The node is starting"

    def __init__(self, progress: ProgressReport) -> None:
        done, of = f"{progress.done:,}", f"{progress.of:,}"
        super().__init__(
            f"The node is starting: {done} of {of} controllers are running. Nothing was done; try"
            f" again"
            " in a moment."
        )
        self.counted = f"{done} of {of}"


class Roster:
    def __init__(self) -> None:
        #: Running controllers by name, in the order in which they were created.
        self.running: dict[str, Member] = {}
        #: Controllers that do not run, by number, or by name if they are not stored yet.
        self._idle: dict[int | str, Member] = {}
        #: Names of controllers that failed to start at some time. Every request that waits for a
        #: controller looks here whether the controller failed; without this set, these searches
        #: took a twentieth of the time of a takeover.
        self._failed_names: set[str] = set()
        #: Problems of tables in the fleet file that create no controllers, by the table and the
        #: name in it, which may contain `{n}` if the table describes several.
        self._mistakes: dict[tuple[str, str], list[str]] = {}
        #: Whether the node is still starting its controllers.
        self.is_starting = False
        #: The number of controllers that ran when the node began to stop them all.
        self.count_at_stop: int | None = None
        #: Delay before a stored controller that failed to start is retried; None if it is not
        #: retried.
        self.retry_s: float | None = None

    # --- transitions ------------------------------------------------------------------------------

    def begin_start(
        self, stored: Mapping[int, MemberRecord], written: Iterable[MemberRecord]
    ) -> None:
        """Record which controllers are to start, stored or from a file.

        The records of the file replace stored ones, because they are more complete.
        """
        self.is_starting = True
        by_name = {record.name: number for number, record in stored.items()}
        for number, record in stored.items():
            self.expect(record, number)
        for record in written:
            self.expect(record, by_name.get(record.name, UNMADE))

    def end_start(self) -> None:
        """Forget the controllers of the file that neither started nor failed to start."""
        self.is_starting = False
        for member in self.idle():
            if not member.is_stored and member.failure is None:
                self.forget(member)

    def expect(self, record: MemberRecord, number: int = UNMADE) -> Member:
        """Return the member of a controller that does not run, with its current record."""
        key = record.name if number == UNMADE else number
        member = self._idle.get(key) or self._idle.setdefault(key, Member(record, number))
        member.record = record
        if member.failure is not None:
            self._failed_names.add(record.name)
        if number != UNMADE:
            self.forget_unmade([record.name])
        return member

    def note_running(self, member: Member, running: Running) -> None:
        self._idle.pop(member.number, None)
        member.run(running)
        self.running[member.name] = member

    def note_failed(self, member: Member, reason: str) -> None:
        self._failed_names.add(member.name)
        is_retried = self.retry_s is not None and member.is_stored
        member.fail(reason, time.monotonic() + (self.retry_s or 0.0) if is_retried else None)

    def note_mistake(self, table: str, sentence: str, name: str = "") -> None:
        self._mistakes.setdefault((table, name), []).append(sentence)

    def forget(self, member: Member) -> None:
        """Remove a controller: it stops, was removed, or belongs to another node."""
        member.leave()
        # A controller that was never created may have the same name as a running one.
        if self.running.get(member.name) is member:
            del self.running[member.name]
        else:
            self._idle.pop(member.number if member.is_stored else member.name, None)

    def forget_stored(self, numbers: Iterable[int]) -> None:
        """Remove these controllers if they do not run."""
        for number in numbers:
            if (member := self._idle.get(number)) is not None:
                self.forget(member)

    def forget_unmade(self, names: Collection[str]) -> None:
        """Remove failures to create controllers that exist now."""
        for name in names:
            if (member := self._idle.get(name)) is not None:
                self.forget(member)

    def keep_stored(self, own: Collection[int]) -> None:
        """Remove controllers that do not run here and now belong to another node."""
        for member in self.idle():
            is_here = not member.is_stored or member.number in own
            # A start that is under way must end first.
            if not (is_here or isinstance(member.state, Starting)):
                self.forget(member)

    def retry_now(self, numbers: Collection[int] | None = None) -> None:
        """Make failed stored controllers due now: all, or only those with these numbers."""
        now = time.monotonic()
        for member in self.list_failed():
            is_chosen = member.is_stored and (numbers is None or member.number in numbers)
            # A controller whose next attempt is under way is not waiting.
            if is_chosen and isinstance(member.state, Failed):
                member.reschedule(now)

    # --- controllers that do not run --------------------------------------------------------------

    def idle(self) -> list[Member]:
        return list(self._idle.values())

    def list_failed(self) -> list[Member]:
        """Return the controllers that failed to start, stored ones first."""
        failed = [one for one in self._idle.values() if one.failure is not None]
        return sorted(failed, key=lambda it: (not it.is_stored, it.number, it.name))

    def numbers_of_failed(self, tenant: str | None = None) -> dict[str, int]:
        """Return a tenant's failed stored controllers, by name; the operator (None) gets all."""
        failed = (one for one in self.list_failed() if one.is_stored)
        return {one.name: one.number for one in failed if is_seen(tenant, one.record.tenant)}

    def idle_at(self, address: str) -> Member | None:
        return next((it for it in self._idle.values() if it.record.address == address), None)

    def list_awaited_ports(self) -> set[int]:
        return {one.record.port for one in self._idle.values() if one.record.port is not None}

    def reasons_by_number(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return why these stored controllers failed to start, if they did."""
        failures = ((one, it.failure) for one in numbers if (it := self._idle.get(one)) is not None)
        return {number: failure.reason for number, failure in failures if failure is not None}

    def may_start(self, number: int) -> bool:
        """Return whether a stored controller may be started now."""
        member = self._idle.get(number)
        return member is None or member.failure is None or member.is_due(time.monotonic())

    def any_due(self, among: Collection[int] | None = None) -> bool:
        """Return whether any failed controller, or any in `among`, is to be retried now."""
        now = time.monotonic()
        chosen = self.list_failed() if among is None else map(self._idle.get, among)
        return any(one is not None and one.is_due(now) for one in chosen)

    # --- reports ----------------------------------------------------------------------------------

    def stop_progress(self) -> ProgressReport | None:
        """Return the number of stopped controllers; None unless the node is stopping."""
        count = self.count_at_stop
        return None if count is None else ProgressReport(max(0, count - len(self.running)), count)

    def progress(self, tenant: str | None = None) -> ProgressReport | None:
        """Return the progress of the start for a tenant's controllers; None after the start."""
        if not self.is_starting:
            return None
        done = sum(is_seen(tenant, one.record.tenant) for one in self.running.values())
        idle = sum(is_seen(tenant, one.record.tenant) for one in self._idle.values())
        return ProgressReport(done, done + idle)

    def check_started(self, tenant: str | None) -> None:
        """Refuse requests about controllers while some of them are still starting."""
        if (progress := self.progress(tenant)) is not None:
            raise NodeStarting(progress)

    def problems(self) -> list[str]:
        """Return all reasons why controllers failed to start."""
        of_tables = [text for sentences in self._mistakes.values() for text in sentences]
        return [*(one.failure.reason for one in self.list_failed() if one.failure), *of_tables]

    def reasons(self) -> list[str]:
        """Return one reason for each controller or table that failed to start."""
        of_tables = [" ".join(sentences) for sentences in self._mistakes.values()]
        return [*(one.failure.reason for one in self.list_failed() if one.failure), *of_tables]

    def knows(self, name: str) -> bool:
        """Return whether a controller of this name failed to start."""
        return self.reason_for(name) is not None

    def reason_for(self, name: str) -> str | None:
        member = self._find_failed(name)
        if member is not None and member.failure is not None:
            return member.failure.reason
        names = {name, *_as_written(name)}
        found = (sentences for (_, one), sentences in self._mistakes.items() if one in names)
        return next((" ".join(sentences) for sentences in found), None)

    def _find_failed(self, name: str) -> Member | None:
        if name not in self._failed_names:
            return None
        found = (one for one in self._idle.values() if one.name == name)
        return next((one for one in found if one.failure is not None), None)

    def sentence(self, name: str, *, with_cause: bool) -> str | None:
        """Return the refusal for a failed controller; None if there is no such controller.

        The cause may name files and ports of the machine, so it can be withheld.
        """
        why, member = self.reason_for(name), self._find_failed(name)
        if why is None or not with_cause:
            return None if why is None else CAUSE_WITHHELD
        if member is not None and member.failure is not None:
            return _sentence_of(member, member.failure)
        return f"This controller failed to start. {why} The node retries it when it restarts."

    def sentences_of(self, tenant: str | None) -> dict[int, str]:
        """Return refusals for a tenant's failed stored controllers, by number.

        The operator (None) gets all of them, with their causes.
        """
        return {
            one.number: _sentence_of(one, one.failure) if tenant is None else CAUSE_WITHHELD
            for one in self.list_failed()
            if one.failure and one.is_stored and is_seen(tenant, one.record.tenant)
        }

    def refusal_of(self, name: str, tenant: str | None) -> Refusal:
        """Return the refusal for a name that no running controller has."""
        sentence = self.sentence(name, with_cause=tenant is None)
        if sentence is None or (tenant is not None and name not in self.numbers_of_failed(tenant)):
            return no_such_name(name)
        return NotRunning(sentence)


def _sentence_of(member: Member, failure: Failed) -> str:
    why, name = failure.reason, member.name
    if failure.retry_at is not None:
        return f"This controller failed to start. {why} The node retries it every few seconds."
    return f"This controller failed to start. {why} Retry it with `leverframe fleet start {name}`."


def _as_written(name: str) -> list[str]:
    """Return the patterns with which a table may have created this controller."""
    return [
        f"{name[: found.start()]}{{n}}{name[found.end() :]}" for found in _NUMBER.finditer(name)
    ]
