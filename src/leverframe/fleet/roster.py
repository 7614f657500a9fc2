"""The controllers that a node has or is to have, in whatever state, and what is said of each.

Those that run are found by name. The others wait for their turn, start, or failed to start: a
stored one is known by its number, and one that a fleet file names by its name until it is made.
"""

import re
import time
from collections.abc import Collection, Iterable, Mapping

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.lifecycle import Failed, Running, Starting
from leverframe.fleet.member import UNMADE, Member, no_such_name
from leverframe.fleet.progress import ProgressReport
from leverframe.fleet.records import MemberRecord, NotRunning
from leverframe.fleet.tenants import is_seen

TOLD_ELSEWHERE = (
    "This controller did not start. `leverframe fleet list` and the page of the node tell its"
    " operator why."
)
_NUMBER = re.compile(r"\d+")


class NodeStarting(Refusal):
    status = 503
    title = "The node is starting"

    def __init__(self, progress: ProgressReport) -> None:
        done, of = f"{progress.done:,}", f"{progress.of:,}"
        super().__init__(
            f"The node is starting: {done} of {of} controllers run. Nothing was done: try again in"
            " a moment."
        )
        self.counted = f"{done} of {of}"


class Roster:
    def __init__(self) -> None:
        #: By name, in the order in which they were made.
        self.running: dict[str, Member] = {}
        #: The others, by number or, where nothing is stored of them yet, by name.
        self._idle: dict[int | str, Member] = {}
        #: What is wrong with tables of the fleet file, which make no controllers, by the table and
        #: the name in it; that may have `{n}` for the number of several.
        self._mistakes: dict[tuple[str, str], list[str]] = {}
        #: The node starts its controllers one after the other, and has not come to the end.
        self.is_starting = False
        #: How many ran when the node began to stop them all.
        self.count_at_stop: int | None = None
        #: After how long a stored controller that failed to start is tried again automatically.
        self.retry_s: float | None = None

    # --- what happens to them ---------------------------------------------------------------------

    def begin_start(
        self, stored: Mapping[int, MemberRecord], written: Iterable[MemberRecord]
    ) -> None:
        """Expect what is stored and what a file says, which says more than the store."""
        self.is_starting = True
        by_name = {record.name: number for number, record in stored.items()}
        for number, record in stored.items():
            self.expect(record, number)
        for record in written:
            self.expect(record, by_name.get(record.name, UNMADE))

    def end_start(self) -> None:
        """Take controllers for unknown from now on that neither started nor failed to."""
        self.is_starting = False
        for member in self.idle():
            if not member.is_stored and member.failure is None:
                self.forget(member)

    def expect(self, record: MemberRecord, number: int = UNMADE) -> Member:
        """Return the member of a controller that does not run, with its present record."""
        key = record.name if number == UNMADE else number
        member = self._idle.get(key) or self._idle.setdefault(key, Member(record, number))
        member.record = record
        if number != UNMADE:
            self.forget_unmade([record.name])
        return member

    def note_running(self, member: Member, running: Running) -> None:
        self._idle.pop(member.number, None)
        member.run(running)
        self.running[member.name] = member

    def note_failed(self, member: Member, reason: str) -> None:
        is_retried = self.retry_s is not None and member.is_stored
        member.fail(reason, time.monotonic() + (self.retry_s or 0.0) if is_retried else None)

    def note_mistake(self, table: str, sentence: str, name: str = "") -> None:
        self._mistakes.setdefault((table, name), []).append(sentence)

    def forget(self, member: Member) -> None:
        """Let a controller leave: it stops, was removed, or belongs to another node."""
        member.leave()
        # An unmade one may have the name of one that runs by now.
        if self.running.get(member.name) is member:
            del self.running[member.name]
        else:
            self._idle.pop(member.number if member.is_stored else member.name, None)

    def forget_stored(self, numbers: Iterable[int]) -> None:
        """Forget those of some controllers that do not run."""
        for number in numbers:
            if (member := self._idle.get(number)) is not None:
                self.forget(member)

    def forget_unmade(self, names: Collection[str]) -> None:
        """Forget that controllers were to be made, or could not be: they are by now."""
        for name in names:
            if (member := self._idle.get(name)) is not None:
                self.forget(member)

    def keep_stored(self, own: Collection[int]) -> None:
        """Forget those that do not run and that another node has by now."""
        for member in self.idle():
            is_here = not member.is_stored or member.number in own
            # The outcome of a start that is under way is awaited.
            if not (is_here or isinstance(member.state, Starting)):
                self.forget(member)

    def retry_now(self, numbers: Collection[int] | None = None) -> None:
        """Let stored controllers that failed to start wait no longer; all where none are named."""
        now = time.monotonic()
        for member in self.failed():
            is_chosen = member.is_stored and (numbers is None or member.number in numbers)
            # One whose next attempt is under way waits for nothing.
            if is_chosen and isinstance(member.state, Failed):
                member.reschedule(now)

    # --- those that do not run --------------------------------------------------------------------

    def idle(self) -> list[Member]:
        return list(self._idle.values())

    def failed(self) -> list[Member]:
        """Return those that failed to start, the stored ones first."""
        failed = [one for one in self._idle.values() if one.failure is not None]
        return sorted(failed, key=lambda it: (not it.is_stored, it.number, it.name))

    def failed_numbers(self, tenant: str | None = None) -> dict[str, int]:
        """Return the numbers of a tenant's that are stored and failed, by name; all for None."""
        failed = (one for one in self.failed() if one.is_stored)
        return {one.name: one.number for one in failed if is_seen(tenant, one.record.tenant)}

    def idle_at(self, address: str) -> Member | None:
        return next((it for it in self._idle.values() if it.record.address == address), None)

    def awaited_ports(self) -> set[int]:
        return {one.record.port for one in self._idle.values() if one.record.port is not None}

    def reasons_by_number(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return why those of some stored controllers failed to start that did."""
        failures = ((one, it.failure) for one in numbers if (it := self._idle.get(one)) is not None)
        return {number: failure.reason for number, failure in failures if failure is not None}

    def may_start(self, number: int) -> bool:
        """Return whether a stored controller is to be started now."""
        member = self._idle.get(number)
        return member is None or member.failure is None or member.is_due(time.monotonic())

    def any_due(self, among: Collection[int] | None = None) -> bool:
        """Return whether one that failed to start is to be tried now; of all if none are named."""
        now = time.monotonic()
        chosen = self.failed() if among is None else map(self._idle.get, among)
        return any(one is not None and one.is_due(now) for one in chosen)

    # --- what is said of them ---------------------------------------------------------------------

    def stop_progress(self) -> ProgressReport | None:
        """Return how many controllers have stopped; None while the node does not stop."""
        count = self.count_at_stop
        return None if count is None else ProgressReport(max(0, count - len(self.running)), count)

    def progress(self, tenant: str | None = None) -> ProgressReport | None:
        """Return how many of a tenant's controllers run; None when the start is over."""
        if not self.is_starting:
            return None
        done = sum(is_seen(tenant, one.record.tenant) for one in self.running.values())
        idle = sum(is_seen(tenant, one.record.tenant) for one in self._idle.values())
        return ProgressReport(done, done + idle)

    def check_started(self, tenant: str | None) -> None:
        """Refuse what concerns controllers, of which some do not run yet."""
        if (progress := self.progress(tenant)) is not None:
            raise NodeStarting(progress)

    def problems(self) -> list[str]:
        """Return every reason for which a controller did not start, one by one."""
        of_tables = [text for sentences in self._mistakes.values() for text in sentences]
        return [*(one.failure.reason for one in self.failed() if one.failure), *of_tables]

    def reasons(self) -> list[str]:
        """Return for each controller or table why it did not start, with all its reasons."""
        of_tables = [" ".join(sentences) for sentences in self._mistakes.values()]
        return [*(one.failure.reason for one in self.failed() if one.failure), *of_tables]

    def knows(self, name: str) -> bool:
        """Return whether a controller of this name did not start."""
        return self.reason_for(name) is not None

    def reason_for(self, name: str) -> str | None:
        member = self._failed_named(name)
        if member is not None and member.failure is not None:
            return member.failure.reason
        names = {name, *_as_written(name)}
        found = (sentences for (_, one), sentences in self._mistakes.items() if one in names)
        return next((" ".join(sentences) for sentences in found), None)

    def _failed_named(self, name: str) -> Member | None:
        found = (one for one in self._idle.values() if one.name == name)
        return next((one for one in found if one.failure is not None), None)

    def sentence(self, name: str, *, with_cause: bool) -> str | None:
        """Return that a controller did not start; None where there is no such one.

        The cause names files and ports of the machine.
        """
        why, member = self.reason_for(name), self._failed_named(name)
        if why is None or not with_cause:
            return None if why is None else TOLD_ELSEWHERE
        if member is not None and member.failure is not None:
            return _sentence_of(member, member.failure)
        return f"This controller did not start. {why} It is tried again when the node is started."

    def sentences_of(self, tenant: str | None) -> dict[int, str]:
        """Return by number that stored controllers of a tenant did not start; all for None."""
        return {
            one.number: _sentence_of(one, one.failure) if tenant is None else TOLD_ELSEWHERE
            for one in self.failed()
            if one.failure and one.is_stored and is_seen(tenant, one.record.tenant)
        }

    def refusal_of(self, name: str, tenant: str | None) -> Refusal:
        """Return what is said of a name that no controller has which runs."""
        sentence = self.sentence(name, with_cause=tenant is None)
        if sentence is None or (tenant is not None and name not in self.failed_numbers(tenant)):
            return no_such_name(name)
        return NotRunning(sentence)


def _sentence_of(member: Member, failure: Failed) -> str:
    why, name = failure.reason, member.name
    if failure.retry_at is not None:
        return f"This controller did not start. {why} It is tried again every few seconds."
    return f"This controller did not start. {why} `leverframe fleet start {name}` tries it again."


def _as_written(name: str) -> list[str]:
    """Return how a table may be named that makes this controller among others."""
    return [
        f"{name[: found.start()]}{{n}}{name[found.end() :]}" for found in _NUMBER.finditer(name)
    ]
