"""Plans for people: in words, and as commands of curl."""

import shlex
from collections.abc import Iterator, Sequence

from leverframe.engine.settings import Settings
from leverframe.engine.tree import MASK
from leverframe.units.file_keys import key_of
from leverframe.units.rule_sentences import sentence_about
from leverframe.units.unit_plan import UnitPlan, UnitStep

_MAX_CHANGES = 8
_MAX_LETTERS = 100


def plan_in_words(plan: UnitPlan) -> Iterator[str]:
    """Yield the lines of a plan."""
    head = f"{plan.unit}, {plan.profile}"
    if not plan.steps:
        yield f"{head}: nothing to send."
    else:
        yield f"{head}: {_counted(len(plan.steps), 'step')}, proven on a twin."
    for number, (step, before, after) in enumerate(plan.walked(), start=1):
        yield f"{number:4}. {step.words(plan.profile)}"
        yield from (f"      {line}" for line in _changes(step, before, after))
        request = step.shown_request(plan.profile)
        yield f"      {_short(f'{request.method} {request.target}')}"
    for one in plan.left_out:
        yield f"   -  {key_of(one.path)} is not reached. {one.reason}"


def _changes(step: UnitStep, before: Settings, after: Settings) -> Iterator[str]:
    """Say what a step changes: a rule as a sentence, anything else by its keys."""
    name, _, value = step.request.query.partition("=")
    if name in ("event", "eventdel"):
        index = int(value.partition("*")[0])
        old, new = (rules[index : index + 1] for rules in (before.rules, after.rules))
        if old:
            yield f"rule {index + 1} was: {sentence_about(old[0])}"
        if name == "event":
            yield f"rule {index + 1}: {sentence_about(new[0])}"
        return
    yield from (_short(str(change)) for change in step.changes[:_MAX_CHANGES])
    if (more := len(step.changes) - _MAX_CHANGES) > 0:
        yield f"and {_counted(more, 'setting')} more"


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
    """Say in a sentence how much is to be sent."""
    steps = sum(len(plan.steps) for plan in plans)
    units = sum(bool(plan.steps) for plan in plans)
    return f"{_counted(steps, 'command')} to {_counted(units, 'unit')}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _short(line: str) -> str:
    return line if len(line) <= _MAX_LETTERS else f"{line[:_MAX_LETTERS]}..."
