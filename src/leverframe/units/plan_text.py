"""Plans for people: in words, and as commands of curl."""

import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from leverframe.engine.settings import ScheduleEntry, Settings, rule_numbered
from leverframe.engine.tree import MASK
from leverframe.units.file_keys import key_of
from leverframe.units.rule_sentences import sentence_about
from leverframe.units.setting_words import words_of_entry
from leverframe.units.unit_plan import NOTHING, SettingChange, UnitPlan, UnitStep

_MAX_CHANGES = 8
_MAX_LETTERS = 100


class DescribedChange(Struct, frozen=True):
    """One change of a step, with values as a unit file writes them."""

    path: str
    #: None where it could not be read.
    old: str | None
    new: str


class DescribedStep(Struct, frozen=True):
    """A step as people read it; each says it in its own language."""

    #: What the command does, as the reference says it.
    doc: str
    changes: tuple[DescribedChange, ...]
    #: So many changes are left out.
    more: int
    request: str


def describe_steps(plan: UnitPlan) -> Iterator[DescribedStep]:
    """Yield what the steps of a plan do; secrets are not shown."""
    for step, before, after in plan.walked():
        changes = tuple(_changes(step, before, after))
        request = step.shown_request(plan.profile)
        yield DescribedStep(
            step.doc(plan.profile),
            changes[:_MAX_CHANGES],
            max(0, len(changes) - _MAX_CHANGES),
            _short(f"{request.method} {request.target}"),
        )


def _changes(step: UnitStep, before: Settings, after: Settings) -> Iterator[DescribedChange]:
    """Yield what a step changes: a rule as a sentence, anything else by its settings."""
    name, _, value = step.request.query.partition("=")
    if name in ("event", "eventdel"):
        index = int(value.partition("*")[0])
        old, new = (rule_numbered(one.rules, index + 1) for one in (before, after))
        now = sentence_about(new) if new and name == "event" else NOTHING
        yield DescribedChange(f"rules.{index}", sentence_about(old) if old else NOTHING, now)
        return
    entries = sorted(
        {int(change.path.split(".")[1]) for change in step.changes if _is_entry(change)}
    )
    for place in entries:
        texts = (_entry_text(settings.schedule, place) for settings in (before, after))
        yield DescribedChange(f"schedule.{place}", *texts)
    for change in step.changes:
        if _is_entry(change):
            continue
        old_text = None if change.old == change.new else _short(change.shown(change.old))
        yield DescribedChange(change.path, old_text, _short(change.shown(change.new)))


def _is_entry(change: SettingChange) -> bool:
    """Return whether a setting is one of a schedule entry, which is told as a whole."""
    return change.path.startswith("schedule.")


def _entry_text(entries: Sequence[ScheduleEntry | None], place: int) -> str:
    entry = entries[place] if place < len(entries) else None
    return NOTHING if entry is None else words_of_entry(entry)


def plan_in_words(plan: UnitPlan) -> Iterator[str]:
    """Yield the lines of a plan, for the terminal."""
    head = f"{plan.unit}, {plan.profile}"
    if not plan.steps:
        yield f"{head}: nothing to send."
    else:
        yield f"{head}: {_counted(len(plan.steps), 'step')}, proven on a twin."
    for unknown in plan.unreadable:
        yield f"   ?  not readable on {plan.profile}: {unknown}"
    for number, (own, step) in enumerate(
        zip(plan.steps, describe_steps(plan), strict=True), start=1
    ):
        yield f"{number:4}. {own.words(plan.profile)}"
        yield from (f"      {line}" for change in step.changes for line in _lines(change))
        if step.more:
            yield f"      and {_counted(step.more, 'setting')} more"
        yield f"      {step.request}"
    for one in plan.left_out:
        yield f"   -  {key_of(one.path)} is not reached. {one.reason}"


def _lines(change: DescribedChange) -> Iterator[str]:
    section, _, rule = change.path.partition(".")
    if section == "rules" and rule.isdigit():
        number = int(rule) + 1
        if change.old != NOTHING:
            yield f"rule {number} was: {change.old}"
        if change.new != NOTHING:
            yield f"rule {number}: {change.new}"
    elif change.old is None:
        yield _short(f"{key_of(change.path)}: set to {change.new}")
    else:
        yield _short(f"{key_of(change.path)}: {change.old} -> {change.new}")


def plan_as_curl(plan: UnitPlan, user: str | None) -> Iterator[str]:
    """Yield a plan as commands of a shell; secrets have to be put in by hand."""
    yield f"# {plan.unit}, {plan.profile}: {_counted(len(plan.steps), 'step')}"
    for step in plan.steps:
        yield from _as_curl(plan, step, user)


def _as_curl(plan: UnitPlan, step: UnitStep, user: str | None) -> Iterator[str]:
    request = step.shown_request(plan.profile)
    words = ["curl", "--fail", "--silent", "--show-error", "--output", "/dev/null"]
    if user is not None:
        words += ["--user", user]
    if request.method == "POST":
        words += ["--data-binary", request.body]
    if MASK in request.target or MASK in request.body:
        yield f"# put the secret in the place of {MASK}"
    yield shlex.join([*words, f"{plan.address}{request.target}"])


def overview(plans: Sequence[UnitPlan]) -> str:
    """Describe in a sentence how much is to be sent."""
    steps = sum(len(plan.steps) for plan in plans)
    units = sum(bool(plan.steps) for plan in plans)
    return f"{_counted(steps, 'command')} to {_counted(units, 'unit')}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _short(line: str) -> str:
    return line if len(line) <= _MAX_LETTERS else f"{line[:_MAX_LETTERS]}..."
