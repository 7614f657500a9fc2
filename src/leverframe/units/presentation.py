"""Plans as text: in words, and as curl command lines."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.settings import Rule, ScheduleEntry, Settings, rule_numbered
from leverframe.interface.plan.planner import mask_request
from leverframe.units.file_keys import key_of
from leverframe.units.rule_sentences import sentence_about
from leverframe.units.unit_plan import NOTHING, SettingChange, UnitPlan, UnitStep
from leverframe.units.unit_text import words_of_entry

_MAX_CHANGES = 8
_MAX_LETTERS = 100
#: Marks the previous content of a rule.
_WAS = "was: "
#: Commands that move several rules.
_SHIFTS = {"eventdel": "Delete", "rulemove": "Move"}
#: Commands that contain the number of a rule.
_PLACED = ("event=", "eventdel=", "rulemove=")


class DescribedChange(Struct, frozen=True):
    """One change of a step, with values as a unit file writes them."""

    path: str
    #: None if it could not be read.
    old: str | None
    new: str


class DescribedStep(Struct, frozen=True):
    """A step in the form that users read; each client words it in its own language."""

    #: The description of the command from the reference.
    doc: str
    changes: tuple[DescribedChange, ...]
    #: Number of changes left out.
    more: int
    request: str


def describe_steps(plan: UnitPlan) -> Iterator[DescribedStep]:
    """Yield descriptions of the steps of a plan, without secrets."""
    for step, before, after in plan.walk():
        changes = tuple(_with_unread(one, plan) for one in _changes(step, before, after))
        request = step.mask_request(plan.profile)
        yield DescribedStep(
            step.doc(plan.profile),
            changes[:_MAX_CHANGES],
            max(0, len(changes) - _MAX_CHANGES),
            _short(f"{request.method} {request.target}"),
        )


def _changes(step: UnitStep, before: Settings, after: Settings) -> Iterator[DescribedChange]:
    """Yield the changes of a step: a rule as a sentence, anything else by its settings."""
    name = step.request.query.partition("=")[0]
    if name in ("event", "eventdel") or "&event=" in step.request.query:
        index = _place_of_rule(step)
        old, new = (rule_numbered(one.rules, index + 1) for one in (before, after))
        if "rulemove=" in step.request.query:
            old = None
        now = sentence_about(new) if new and name != "eventdel" else NOTHING
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
        old_text = None if change.old == change.new else _short(change.show(change.old))
        yield DescribedChange(change.path, old_text, _short(change.show(change.new)))


def _with_unread(change: DescribedChange, plan: UnitPlan) -> DescribedChange:
    """Add the off delay that a rule gets although the unit hides the present value."""
    path = f"{change.path}.off_delay"
    is_set = any(one.path == path and one.fate == "set" for one in plan.unreadable)
    if not is_set or change.new == NOTHING or "off delay" in change.new:
        return change
    return replace(change, new=f"{change.new}, off delay 0s")


def _place_of_rule(step: UnitStep) -> int:
    """Return the place of the rule that a step deletes or writes; a new rule may be moved there."""
    *_, last = (item for item in step.request.query.split("&") if item.startswith(_PLACED))
    fields = last.partition("=")[2].split("*")
    return int(fields[1 if last.startswith("rulemove=") else 0])


def _is_entry(change: SettingChange) -> bool:
    """Return whether a setting belongs to a schedule entry, which is described as a whole."""
    return change.path.startswith("schedule.")


def _entry_text(entries: Sequence[ScheduleEntry | None], place: int) -> str:
    entry = entries[place] if place < len(entries) else None
    return NOTHING if entry is None else words_of_entry(entry)


def plan_in_words(plan: UnitPlan) -> Iterator[str]:
    """Yield the lines of a plan for the terminal."""
    head = f"{plan.unit}, {plan.profile}"
    if not plan.steps:
        yield f"{head}: nothing to send."
    else:
        yield f"{head}: {_count(len(plan.steps), 'step')}, verified on a twin."
    for unknown in plan.unreadable:
        yield f"   ?  not readable on {plan.profile}: {unknown}"
    yield from not_restorable_in_words(plan)
    for number, step in enumerate(steps_in_words(plan), start=1):
        yield f"{number:4}. {step.does}"
        yield from (f"      {line}" for line in step.details)
        yield f"      {step.request}"
    yield from lines_of_left_out(plan)


def not_restorable_in_words(plan: UnitPlan) -> Iterator[str]:
    if plan.not_restorable:
        yield f"   !  no rollback can restore {', '.join(map(key_of, plan.not_restorable))}"


def lines_of_left_out(plan: UnitPlan) -> Iterator[str]:
    for one in plan.left_out:
        yield f"   -  {key_of(one.path)} is not reached. {one.reason}"


class StepWords(NamedTuple):
    """A step for the terminal."""

    #: The action of the step, with its detail if there is only one.
    does: str
    details: tuple[str, ...]
    request: str

    @property
    def line(self) -> str:
        """The step without its request, in one line."""
        if not self.details:
            return self.does
        more = f" and {len(self.details) - 1} more" if len(self.details) > 1 else ""
        mark = ";" if self.details[0].startswith(_WAS) else ":"
        return f"{self.does}{mark} {self.details[0]}{more}"


def steps_in_words(plan: UnitPlan) -> Iterator[StepWords]:
    for (step, before, after), described in zip(plan.walk(), describe_steps(plan), strict=True):
        about_rule = _rule_step(step, before, after)
        if about_rule is not None:
            yield StepWords(*about_rule, described.request)
            continue
        lines = [line for change in described.changes for line in _lines(change)]
        if described.more:
            lines.append(f"and {_count(described.more, 'setting')} more")
        # Leave out the list of fields and the meaning of single values.
        does = re.split(r"[:;] ", step.words(plan.profile))[0]
        yield StepWords(does, tuple(lines), described.request)


def _rule_step(
    step: UnitStep, before: Settings, after: Settings
) -> tuple[str, tuple[str, ...]] | None:
    """Describe the effect of a step on one rule; None if the step does not concern one rule."""
    name, _, value = step.request.query.partition("=")
    if name in _SHIFTS and "&" not in value:
        # All later rules change their numbers, too.
        index, _, target = value.partition("*")
        rule = rule_numbered(before.rules, int(index) + 1)
        where = f" to place {int(target) + 1}" if target.isdecimal() else ""
        return f"{_SHIFTS[name]} rule {int(index) + 1}{where}{_after_number(rule)}", ()
    if "rulemove=" in step.request.query:
        number = _place_of_rule(step) + 1
        return f"Insert rule {number}{_after_number(rule_numbered(after.rules, number))}", ()
    numbers = [
        number
        for number in range(1, max(len(before.rules), len(after.rules)) + 1)
        if rule_numbered(before.rules, number) != rule_numbered(after.rules, number)
    ]
    changed = {change.path.split(".")[0] for change in step.changes}
    if changed != {"rules"} or len(numbers) != 1:
        return None
    (number,) = numbers
    old, new = (rule_numbered(one.rules, number) for one in (before, after))
    if old is None or new is None:
        return f"{'Add' if old is None else 'Delete'} rule {number}{_after_number(new or old)}", ()
    if replace(old, enabled=new.enabled) == new:
        return f"{'Enable' if new.enabled else 'Disable'} rule {number}{_after_number(new)}", ()
    return f"Change rule {number}{_after_number(new)}", (
        f"{_WAS}{_after_number(old).removeprefix(': ')}",
    )


def _after_number(rule: Rule | None) -> str:
    """Return the text of a rule that follows its number; separate steps enable or disable it."""
    return "" if rule is None else f": {sentence_about(replace(rule, enabled=True))}"


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
    """Yield a plan as shell commands; secrets must be filled in by hand."""
    yield f"# {plan.unit}, {plan.profile}: {_count(len(plan.steps), 'step')}"
    for step in plan.steps:
        yield from _as_curl(plan, step, user)


def _as_curl(plan: UnitPlan, step: UnitStep, user: str | None) -> Iterator[str]:
    secrets: list[str] = []

    def name_secret(path: str) -> str:
        secrets.append(f"<{key_of(path) if path else 'secret'}>")
        return secrets[-1]

    request = mask_request(step.request, plan.profile, name_secret)
    words = ["curl", "--fail", "--silent", "--show-error", "--output", "/dev/null"]
    if user is not None:
        words += ["--user", user]
    if request.method == "POST":
        words += ["--data-binary", request.body]
    if secrets:
        yield f"# Replace {', '.join(dict.fromkeys(secrets))}, encoded as the command expects it:"
    yield shlex.join([*words, f"{plan.address}{request.target}"])


def overview(plans: Sequence[UnitPlan]) -> str:
    """Describe the number of commands and units in a sentence."""
    steps = sum(len(plan.steps) for plan in plans)
    units = sum(bool(plan.steps) for plan in plans)
    return f"{_count(steps, 'command')} to {_count(units, 'unit')}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _short(line: str) -> str:
    return line if len(line) <= _MAX_LETTERS else f"{line[:_MAX_LETTERS]}..."
