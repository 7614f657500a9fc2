"""A roll-out over the twins of a fleet, as a node makes it."""

from leverframe.fleet.bulk import MemberResult
from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.jobs.job_state import JobReport, Operation
from leverframe.testing.in_process import BY_TEST
from leverframe.testing.loop_thread import LOOP_THREAD


class TwinRollout:
    """A roll-out that has been started; every method returns when it ends, or has stopped."""

    def __init__(self, job: FleetJob) -> None:
        self._job = job

    @property
    def report(self) -> JobReport:
        """How far it is: status, groups, why it has stopped, and the result of each twin."""
        return self._job.report(with_results=True)

    @property
    def status(self) -> str:
        return self._job.state.status

    @property
    def failed(self) -> list[MemberResult]:
        """The results of those that have not done it."""
        return [one for one in self._job.results() if one.status != 200]

    def start(self) -> "TwinRollout":
        """Begin with the first group."""
        return self._operate("start")

    def resume(self) -> "TwinRollout":
        """Continue although some have failed."""
        return self._operate("resume")

    def retry(self) -> "TwinRollout":
        """Try those again that have failed, and only those."""
        return self._operate("retry")

    def undo(self) -> "TwinRollout":
        """Give back the settings to those that were changed."""
        return self._operate("undo")

    def _operate(self, what: Operation) -> "TwinRollout":
        LOOP_THREAD.run(self._operated(what))
        return self

    async def _operated(self, what: Operation) -> None:
        await self._job.operate(what, BY_TEST)
        await self._job.ended()
