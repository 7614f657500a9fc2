"""A job as data: its work, its plan, its progress, and the outcome at each controller."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, difference, is_confidential, leaves
from leverframe.fleet.bulk import DONE, MemberResult
from leverframe.fleet.jobs.steps import UNDECIDED
from leverframe.fleet.records import tenant_within
from leverframe.host.controller import Controller
from leverframe.host.controller.commit_path import Command
from leverframe.interface.table.command_text import calls_of, parse_commands
from leverframe.interface.table.lookup import Call
from leverframe.interface.table.refusals import BadValue, Conflict, Refusal
from leverframe.interface.table.stage import Stage
from leverframe.interface.table.system import RESTORE_ROW
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.limits import ENTRIES, Content
from leverframe.storage.backup import BackupFile, content_of

# The work of a job: each controller runs commands or gets template settings, as one change.

#: Settings of a template that do not apply to a running controller.
_NOT_OF_TEMPLATES = ("profile.", "access.")
_MAX_LETTERS = 200


class JobWork(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Commands, one per line, or a template."""

    commands: tuple[str, ...] = ()
    template: BackupFile | None = None

    def calls(self, controller: Controller) -> list[Command]:
        """Return the calls for a controller, which depend on its version and current settings."""
        if self.template is not None:
            settings = with_template(self.template, controller.profile, controller.pending)
            return [(TAKE_SETTINGS, settings)]
        written = parse_commands("\n".join(self.commands))
        return [call for command in written for call in calls_of(command, controller.profile)]

    def title(self) -> str:
        """Describe the work in one line, without possible secrets."""
        if self.template is not None:
            count = len(template_paths(self.template))
            return f"{count} settings of a template" if count != 1 else "a setting of a template"
        texts = [text for command in self.commands for text in _without_secrets(command)]
        title = "; ".join(texts)
        return title if len(title) <= _MAX_LETTERS else f"{title[:_MAX_LETTERS]}..."


class TakesSettings(Call, frozen=True):
    """A call that applies settings which were prepared for this controller."""

    def perform(self, stage: Stage, body: Any = None) -> None:
        given = [path for path, _, _ in difference(stage.settings, body)]
        stage.settings = body
        stage.given += given


TAKE_SETTINGS = TakesSettings(RESTORE_ROW, {}, "settings")


def _without_secrets(command: str) -> Iterable[str]:
    (written,) = parse_commands(command)
    try:
        for call, _ in calls_of(written, Profile()):
            yield f"{written.path[1:]}?{call.text}"
    except Refusal:
        # Another version may have this command. It is unknown which of its values are secret, so
        # all values are left out.
        yield f"{written.path[1:]}?{written.query.partition('=')[0]}"


# --- templates ------------------------------------------------------------------------------------


def template_paths(template: BackupFile) -> list[str]:
    """List the settings that a template sets."""
    return [
        path
        for path in template.settings
        if not path.startswith(_NOT_OF_TEMPLATES) and not is_confidential(path)
    ]


def with_template(template: BackupFile, profile: Profile, present: Settings) -> Settings:
    """Return the current settings with those of a template; refuse settings the version lacks.

    Event entries and the schedule are replaced as a whole: a part of an entry would have another
    meaning in a different entry.
    """
    paths = template_paths(template)
    carried = carry_over(content_of(template, None), profile, defaults(profile))
    for lost in carried.not_carried_over:
        if lost.path in paths:
            raise Conflict(
                f"The template sets {lost.path}, which {profile} does not support. {lost.reason}",
                field="template",
            )
    wanted = dict(leaves(carried.settings))
    whole = tuple(part for part in ENTRIES if any(path.startswith(part) for path in paths))
    merged = {path: value for path, value in leaves(present) if not path.startswith(whole)}
    merged |= {path: wanted[path] for path in paths if path in wanted}
    merged |= {path: value for path, value in wanted.items() if whole and path.startswith(whole)}
    taken = carry_over(Content(profile, merged, with_secrets=True), profile, present)
    return taken.settings


# The plan of a job: its controllers, groups and limits; it never changes.

GROUPS = "counts, percentages and, at the end, `rest`, separated by commas: 1,10%,rest"
ERRORS = "a count such as 3, or a percentage such as 5%"
MAX_GROUPS = 50
_PERCENT = 100
_SIZE = re.compile(r"([1-9]\d{0,5})(%?)")

JobKind = Literal["bulk", "rollout"]


class JobPlan(Struct, frozen=True, omit_defaults=True):
    #: It has the tenant as a prefix if a tenant has requested the job.
    id: str
    kind: JobKind
    title: str
    #: Wall time of its creation.
    made: float
    #: The account that requested it, with its role and address.
    by: str
    role: str
    source: str
    #: The numbers of the controllers, in consecutive groups.
    groups: list[list[int]]
    #: The controllers' names when the job was created.
    names: dict[int, str]
    #: Percentage of a group that must succeed before the next group starts.
    success_percent: float = 0.0
    #: Number of failures that stops the job immediately.
    max_errors: int | None = None
    pause_s: float = 0.0
    #: A finding that a controller did not have before counts as a failure.
    checks_health: bool = False
    takes_snapshots: bool = False
    #: The node's time when the job was created; older plans do not have it.
    at: float | None = None

    @property
    def tenant(self) -> str:
        """Return the tenant of the job.

        The job ignores controllers that now belong to other tenants.
        """
        return tenant_within(self.id)


def form_groups(numbers: Sequence[int], sizes: str) -> list[list[int]]:
    """Divide controllers into groups.

    A percentage refers to the number of all controllers, and is rounded up.
    """
    words = [word for one in sizes.split(",") if (word := one.strip())] or ["rest"]
    if words[-1] != "rest":
        words.append("rest")
    if len(words) > MAX_GROUPS:
        raise BadValue(f"There are {len(words)} groups.", field="groups", allowed=GROUPS)
    groups: list[list[int]] = []
    begin = 0
    for word in words:
        size = len(numbers) if word == "rest" else _size(word, len(numbers))
        if part := list(numbers[begin : begin + size]):
            groups.append(part)
        begin += size
    return groups


def _size(word: str, count: int) -> int:
    found = _SIZE.fullmatch(word)
    if found is None or (found[2] and int(found[1]) > _PERCENT):
        raise BadValue(f"{word[:20]!r} is not a group size.", field="groups", allowed=GROUPS)
    return ceil(count * int(found[1]) / _PERCENT) if found[2] else int(found[1])


def error_count(text: str, count: int) -> int | None:
    """Return the number of failures that stops a job; `none` means no limit."""
    if text == "none":
        return None
    found = _SIZE.fullmatch(text)
    if found is None or (found[2] and int(found[1]) > _PERCENT):
        raise BadValue(f"{text[:20]!r} is not a number of errors.", field="errors", allowed=ERRORS)
    return max(1, ceil(count * int(found[1]) / _PERCENT)) if found[2] else int(found[1])


# The progress of a job, the result of each controller, and the reports of both.

JobStatus = Literal["planned", "running", "waiting", "stopped", "finished", "undoing", "undone"]
#: States in which a node must run the job.
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
    #: The current group; during a pause, the group that has just finished.
    group: int = 0
    #: Counts the starts, resumes, retries and undos; it is part of each snapshot's label.
    round: int = 0
    #: The label of the latest snapshot.
    snapshot: str = ""
    #: Failures that a user accepted by resuming the job, and the group they were in.
    accepted: int = 0
    accepted_group: int = -1
    #: Wall time at which a pause ends.
    go_on_at: float | None = None


class JobOutcome(Struct, frozen=True, omit_defaults=True):
    """The result of one controller."""

    status: int
    detail: str | None = None
    #: Number of tries that the controller has answered, by accepting or rejecting the step.
    tries: int = 0
    #: Whether the settings were changed, and the snapshot from before the change.
    changed: bool = False
    snapshot: str = ""
    #: Its settings were restored.
    undone: bool = False
    #: The controller is to be tried again.
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
    why: Annotated[str | None, Meta(description="Why the job has stopped or is waiting.")]
    by: str
    made: Annotated[float, Meta(description="Seconds since 1970.")]
    at: Annotated[
        float, Meta(description="The same moment by the clock of the node, which may be virtual.")
    ]
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
        int | None, Meta(description=("Number of failures that stops the job immediately."))
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


# The results of a job per controller: done, failed, or still open.

#: The status of a controller that has done its step but has had a new finding since.
UNHEALTHY = 409


class JobOutcomes(dict[int, JobOutcome]):
    """The outcomes by controller number, in the order in which they arrived."""

    def is_left(self, number: int) -> bool:
        outcome = self.get(number)
        return outcome is None or outcome.again

    def is_done(self, number: int) -> bool:
        outcome = self.get(number)
        return outcome is not None and outcome.status == DONE and not outcome.again

    def list_failed(self) -> list[int]:
        return [number for number, one in self.items() if one.status != DONE and not one.again]

    def to_undo(self) -> list[int]:
        """List changed controllers that can be restored, the last change first."""
        return [
            number
            for number, one in reversed(self.items())
            if one.changed and one.snapshot and not one.undone
        ]

    def again(self) -> dict[int, JobOutcome]:
        """Plan another try for failed controllers, with a new step id."""
        return {number: replace(self[number], again=True) for number in self.list_failed()}

    def after(self, number: int, result: MemberResult, snapshot: str) -> JobOutcome:
        before = self.get(number) or JobOutcome(0)
        return JobOutcome(
            result.status,
            result.detail,
            before.tries + (result.status < UNDECIDED),
            before.changed or result.status == DONE,
            # After several changes, undo restores the settings from before the first.
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
                why = "The controller does not answer."
            elif new := [text for id, text in findings.items() if id not in before]:
                why = f"The controller has a new finding: {new[0]}"
            else:
                continue
            worse[number] = replace(self[number], status=UNHEALTHY, detail=why)
        return worse
