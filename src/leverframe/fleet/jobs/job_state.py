"""The progress of a job, the result of each controller, and the reports of both."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from leverframe.fleet.bulk import DONE, MemberResult
from leverframe.fleet.jobs.job_plan import JobPlan

JobStatus = Literal["planned", "running", "waiting", "stopped", "finished", "undoing", "undone"]
#: In these states a node has to run it.
UNDER_WAY: tuple[JobStatus, ...] = ("running", "waiting", "undoing")
JobAction = Literal["start", "stop", "resume", "retry", "undo"]
ALLOWED: dict[JobAction, tuple[JobStatus, ...]] = {
    "start": ("planned",),
    "stop": UNDER_WAY,
    "resume": ("stopped", "waiting"),
    "retry": ("stopped", "finished"),
    "undo": ("stopped", "finished", "undone"),
}


class JobState(Struct, omit_defaults=True):
    """The progress of a job; written whole whenever it changes."""

    status: JobStatus = "planned"
    #: Why it has stopped.
    why: str | None = None
    #: The group that is done, or comes next.
    group: int = 0
    #: How often failed controllers were retried.
    round: int = 0
    #: The label of the snapshot that was taken last.
    snapshot: str = ""
    #: Failures that a user has accepted by resuming it, and the group in which.
    accepted: int = 0
    accepted_group: int = -1
    #: Wall time at which a pause ends.
    go_on_at: float | None = None


class JobOutcome(Struct, frozen=True, omit_defaults=True):
    """The result of one controller."""

    status: int
    detail: str | None = None
    #: Number of its tries that the controller has decided.
    tries: int = 0
    #: The settings were changed, and this snapshot is from before.
    changed: bool = False
    snapshot: str = ""
    #: Its settings were restored.
    undone: bool = False
    #: It is to be tried again.
    again: bool = False


class GroupReport(Struct, frozen=True):
    size: int
    done: int
    failed: int
    undone: int


class JobReport(Struct, frozen=True):
    """A bulk change or a roll-out, as the API reports it."""

    id: str
    kind: str
    title: str
    status: JobStatus
    why: Annotated[str | None, Meta(description="Why it has stopped, or is held up.")]
    by: str
    made: Annotated[float, Meta(description="Seconds since 1970.")]
    at: Annotated[float, Meta(description="The same by the clock of the node, maybe virtual.")]
    group: Annotated[int, Meta(description="Number of finished groups.")]
    groups: list[GroupReport]
    controllers: int
    done: int
    failed: int
    undone: int
    go_on_at: Annotated[float | None, Meta(description="When the pause between groups ends.")]
    can: Annotated[list[JobAction], Meta(description="Requests that are possible now.")]
    success: Annotated[
        float,
        Meta(description=("Percentage of a group that must succeed before the next group starts.")),
    ]
    max_errors: Annotated[
        int | None, Meta(description=("Number of failures that stops it immediately."))
    ]
    pause_s: Annotated[float, Meta(description="Pause after each group.")]
    results: Annotated[list[MemberResult], Meta(description="By controller, if requested.")] = []


def report_of_job(
    plan: JobPlan,
    state: JobState,
    outcomes: Mapping[int, JobOutcome],
    can: list[JobAction],
    results: list[MemberResult],
) -> JobReport:
    groups = [_group_report(group, outcomes) for group in plan.groups]
    return JobReport(
        plan.id,
        plan.kind,
        plan.title,
        state.status,
        state.why,
        plan.by,
        plan.made,
        plan.made if plan.at is None else plan.at,
        state.group + (state.status == "waiting"),
        groups,
        sum(one.size for one in groups),
        sum(one.done for one in groups),
        sum(one.failed for one in groups),
        sum(one.undone for one in groups),
        state.go_on_at,
        can,
        plan.success_percent,
        plan.max_errors,
        plan.pause_s,
        results,
    )


def _group_report(group: Sequence[int], outcomes: Mapping[int, JobOutcome]) -> GroupReport:
    known = [one for number in group if (one := outcomes.get(number)) and not one.again]
    done = sum(one.status == DONE for one in known)
    return GroupReport(len(group), done, len(known) - done, sum(one.undone for one in known))
