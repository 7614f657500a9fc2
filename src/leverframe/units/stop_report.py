"""Report the incomplete state after a change of a unit stopped, with the commands to proceed."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import ParamSpec

from msgspec.structs import replace

from leverframe.engine.settings import Settings, number_rules, rule_numbered
from leverframe.exit_codes import INTERRUPTED
from leverframe.plain_text import print_warnings
from leverframe.units.apply_journal import ApplyJournal, resume_command, rollback_command
from leverframe.units.rule_sentences import sentence_about
from leverframe.units.unit_plan import UnitPlan

P = ParamSpec("P")
_OK = 200


def speaks_when_interrupted(function: Callable[P, Awaitable[int]]) -> Callable[P, Awaitable[int]]:
    """Let a command report that nothing was sent if Ctrl-C ends it before it sends anything.

    Interruptions of the sending are reported for each unit by `rollout.py`.
    """

    @functools.wraps(function)
    async def command(*given: P.args, **named: P.kwargs) -> int:
        try:
            return await function(*given, **named)
        except asyncio.CancelledError:
            print_warnings(["Interrupted. Nothing was sent to any unit."])
            return INTERRUPTED

    return command


def report_stop(
    plan: UnitPlan,
    journal: ApplyJournal,
    options: Sequence[str],
    *,
    can_resume: bool,
    can_revert: bool,
) -> str:
    """Describe the state of a unit after a stop; `options` contain the login options."""
    if all(line.event != "sending" for line in journal.lines):
        return "Nothing was sent to it."
    commands = []
    if can_resume:
        commands.append(f"continue with `{resume_command(journal.path.parent, options)}`")
    if can_revert:
        commands.append(f"revert with `{rollback_command(journal.path, options)}`")
    sentences = [*_half_done(plan, journal)]
    if said := ", or ".join(commands):
        sentences.append(f"{said[0].upper()}{said[1:]}.")
    return " ".join(sentences)


def _half_done(plan: UnitPlan, journal: ApplyJournal) -> Iterator[str]:
    """Yield a sentence for every state that is neither the previous nor the wanted one."""
    done = journal.confirmed
    now, end = _settings_after(plan, done), plan.settings_after()
    off = _rules_off(plan, now, end)
    for number, said in off.items():
        yield f"Rule {number} is off now: {said}."
    if end.output_flags.lock and not now.output_flags.lock:
        yield "The outputs are unlocked now."
    if _is_uncertain(journal):
        after = _rules_off(plan, _settings_after(plan, done + 1), end)
        for number in after.keys() - off.keys():
            yield f"Rule {number} may be off: {after[number]}."
        yield f"Step {done + 1} may or may not have been carried out."


def _settings_after(plan: UnitPlan, steps: int) -> Settings:
    settings = plan.settings_before()
    for _, _, after in islice(plan.walk(), steps):
        settings = after
    return settings


def _rules_off(plan: UnitPlan, now: Settings, end: Settings) -> dict[int, str]:
    """Return the rules that the plan has disabled and will enable, as sentences by number."""
    start = plan.settings_before().rules
    found = {}
    for number, wanted in number_rules(end.rules):
        rule = rule_numbered(now.rules, number)
        if rule and wanted.enabled and not rule.enabled and rule != rule_numbered(start, number):
            found[number] = sentence_about(replace(rule, enabled=True))
    return found


def _is_uncertain(journal: ApplyJournal) -> bool:
    """Return whether a step was sent that the unit neither confirmed nor rejected."""
    last = next(line for line in reversed(journal.lines) if line.event != "stopped")
    is_refused = last.event == "answered" and last.status not in (0, _OK)
    return journal.is_uncertain and not is_refused
