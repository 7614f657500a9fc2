"""The start of a node: until it is over, some of its controllers are stored and do not run yet.

Whoever asks meanwhile is told so, instead of being answered for a part of them as if it were all.
"""

from collections.abc import Callable, Iterable, Sized

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.door import Door
from leverframe.fleet.progress import ProgressReport
from leverframe.fleet.records import MemberRecord, Registry
from leverframe.fleet.tenants import is_seen


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


class NodeStart:
    """Whether a node is still starting its controllers, and how far it has come."""

    def __init__(
        self, door: Door, registry: Registry, running: Callable[[str | None], Sized]
    ) -> None:
        self._door = door
        self._registry = registry
        #: Tells which controllers of a tenant run.
        self._running = running
        #: What the file of the node says; None when the start is over.
        self._written: tuple[MemberRecord, ...] | None = None

    def begin(self, written: Iterable[MemberRecord]) -> None:
        """Expect what is stored and what a file says, before the door listens."""
        self._written = tuple(written)
        self._door.starting.expect(self._expected())

    async def end(self) -> None:
        """End the start: all controllers run, or are reported as failed."""
        self._written = None
        await self._door.end_start()

    @property
    def is_under_way(self) -> bool:
        return self._written is not None

    def progress(self, tenant: str | None = None) -> ProgressReport | None:
        """Return how many of a tenant's controllers run; None when the start is over."""
        if self._written is None:
            return None
        done = len(self._running(tenant))
        expected = sum(is_seen(tenant, one.tenant) for one in self._expected())
        return ProgressReport(done, max(done, expected))

    def check_over(self, tenant: str | None) -> None:
        """Refuse what concerns controllers, of which some do not run yet."""
        progress = self.progress(tenant)
        if progress is not None:
            raise NodeStarting(progress)

    def _expected(self) -> Iterable[MemberRecord]:
        """List what the node is to have: a file says more of a controller than the store."""
        written, directory = self._written or (), self._door.directory
        here = {one.name: one for one in self._registry.records.values()}
        # Where there are other nodes, one of them may have what the file names.
        new = (
            one
            for one in written
            if one.name in here or directory is None or not directory.knows(one.name)
        )
        return (here | {one.name: one for one in new}).values()
