"""The results of a job per controller: done, failed, or still open."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from leverframe.fleet.bulk import DONE, MemberResult
from leverframe.fleet.jobs.job_state import JobOutcome
from leverframe.fleet.jobs.steps import UNDECIDED

#: The status of a controller that has done its step and has a new finding since.
UNHEALTHY = 409


class JobOutcomes(dict[int, JobOutcome]):
    """The outcomes by the number of the controller, in the order in which they came."""

    def is_left(self, number: int) -> bool:
        outcome = self.get(number)
        return outcome is None or outcome.again

    def is_done(self, number: int) -> bool:
        outcome = self.get(number)
        return outcome is not None and outcome.status == DONE and not outcome.again

    def list_failed(self) -> list[int]:
        return [number for number, one in self.items() if one.status != DONE and not one.again]

    def to_undo(self) -> list[int]:
        """List controllers that have changed and can go back, the last first."""
        return [
            number
            for number, one in reversed(self.items())
            if one.changed and one.snapshot and not one.undone
        ]

    def again(self) -> dict[int, JobOutcome]:
        """Plan another try for failed controllers, under a new id."""
        return {number: replace(self[number], again=True) for number in self.list_failed()}

    def after(self, number: int, result: MemberResult, snapshot: str) -> JobOutcome:
        before = self.get(number) or JobOutcome(0)
        return JobOutcome(
            result.status,
            result.detail,
            before.tries + (result.status < UNDECIDED),
            before.changed or result.status == DONE,
            # Of several changes, undo restores the settings from before the first.
            before.snapshot if before.changed else snapshot,
        )

    def mark_restored(self, number: int, result: MemberResult) -> JobOutcome:
        return replace(
            self[number],
            status=result.status,
            detail=result.detail,
            undone=result.status == DONE,
        )

    def worse(
        self,
        found: Mapping[int, Mapping[str, str] | None],
        known: Mapping[int, Iterable[str]],
    ) -> dict[int, JobOutcome]:
        """Return the outcomes of controllers that have a new finding, or do not answer."""
        worse: dict[int, JobOutcome] = {}
        for number, findings in found.items():
            before = known.get(number, ())
            if findings is None:
                why = "It does not answer."
            elif new := [text for id, text in findings.items() if id not in before]:
                why = f"It has a new finding: {new[0]}"
            else:
                continue
            worse[number] = replace(self[number], status=UNHEALTHY, detail=why)
        return worse
