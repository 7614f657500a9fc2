"""A roll-out over the controllers of a node, which the node carries out."""

from time import sleep

from leverframe.fleet.bulk import DONE, MemberResult
from leverframe.fleet.jobs.job_state import UNDER_WAY, JobReport
from leverframe.fleet.node_client import NodeAsking, NodeRefused
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations import rollouts

#: How soon the node is asked how far it is, and how seldom later.
FIRST_LOOK_S = 0.01
LAST_LOOK_S = 0.5


class TwinRollout:
    """A roll-out that has been started; every method returns when it ends, or has stopped."""

    def __init__(self, node: NodeAsking, id: str) -> None:
        self._node = node
        self._id = {"id": id}

    @property
    def report(self) -> JobReport:
        """How far it is: status, groups, why it has stopped, and the result of each twin."""
        return self._node.carry_out(rollouts.show_rollout, self._id)

    @property
    def status(self) -> str:
        return self.report.status

    @property
    def failed(self) -> list[MemberResult]:
        """The results of those that have not done it."""
        return [one for one in self.report.results if one.status != DONE]

    def start(self) -> "TwinRollout":
        """Begin with the first group."""
        return self._operate(rollouts.start_rollout)

    def resume(self) -> "TwinRollout":
        """Continue although some have failed."""
        return self._operate(rollouts.resume_rollout)

    def retry(self) -> "TwinRollout":
        """Try those again that have failed, and only those."""
        return self._operate(rollouts.retry_rollout)

    def undo(self) -> "TwinRollout":
        """Give back the settings to those that were changed."""
        return self._operate(rollouts.undo_rollout)

    def _operate(self, operation: Operation[JobReport]) -> "TwinRollout":
        report, pause_s = self._node.carry_out(operation, self._id), FIRST_LOOK_S
        while report.status in UNDER_WAY:
            if report.why is not None:
                raise NodeRefused(f"The roll-out is held up: {report.why}")
            sleep(pause_s)
            report, pause_s = self.report, min(2 * pause_s, LAST_LOOK_S)
        return self
