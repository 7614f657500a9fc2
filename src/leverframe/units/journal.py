"""The journal of a change: what was sent to a unit and what it answered, one line each.

A line is on disk before its request is sent. It never contains a secret. The first line contains
the previous settings, so that they can be restored. The plan is stored beside the journal until it
is done, so that it can be resumed; that file is readable only by its owner.
"""

import asyncio
import functools
import os
import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, ParamSpec

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.errors import INTERRUPTED, print_warnings
from leverframe.core.settings import Settings, number_rules, rule_numbered
from leverframe.storage.private_files import open_private
from leverframe.units.rule_sentences import sentence_about
from leverframe.units.unit_lock import refuse_held
from leverframe.units.unit_plan import BadPlan, UnitPlan, read_plans, write_plans

SUFFIX = ".jsonl"
PLAN_SUFFIX = ".plan.json"
_SAFE = "abcdefghijklmnopqrstuvwxyz0123456789-."

#: The outcome of a step.
Event = Literal["begun", "sending", "answered", "confirmed", "stopped", "done", "resumed"]


class JournalLine(Struct, frozen=True, omit_defaults=True):
    at: str
    event: Event
    #: Counted from 1.
    step: int = 0
    request: str = ""
    #: The settings that were read back, or the reason of a stop.
    told: str = ""
    status: int = 0
    unit: str = ""
    address: str = ""
    mac: str = ""
    hw: str = ""
    sw: str = ""
    digest: str = ""
    #: The settings that were read before, without secrets.
    before: Mapping[str, Any] = {}
    #: Settings that could not be read, or are secret.
    unread: tuple[str, ...] = ()
    #: The settings that the plan changes.
    changed: tuple[str, ...] = ()
    #: Settings that no rollback can restore, and the first step that overwrites each.
    lost: Mapping[str, int] = {}
    #: File names of the journals whose changes this journal reverts.
    undoes: tuple[str, ...] = ()

    @property
    def device(self) -> str:
        """Return the identity of the unit of the journal: its MAC address, else its address."""
        return self.mac or self.address


class ApplyJournal:
    """The journal of one unit, open for writing."""

    def __init__(self, path: Path, lines: tuple[JournalLine, ...] = ()) -> None:
        self.path = path
        self.lines = list(lines)
        self._descriptor = open_private(path)
        os.lseek(self._descriptor, 0, os.SEEK_END)

    @classmethod
    def begin(cls, folder: Path, plan: UnitPlan) -> "ApplyJournal":
        """Create the journal of a plan that is about to be carried out."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        moment = datetime.now(UTC)
        stem = f"{_file_name(plan.unit)}-{moment:%Y%m%dT%H%M%S.%fZ}"
        write_plans(folder / (stem + PLAN_SUFFIX), [plan])
        journal = cls(folder / (stem + SUFFIX))
        secret = plan.not_journaled
        journal.add(
            "begun",
            unit=plan.unit,
            address=plan.address,
            mac=plan.mac,
            hw=plan.hw,
            sw=plan.sw,
            digest=plan.digest,
            before={path: value for path, value in plan.before.items() if path not in secret},
            unread=(*plan.unread, *secret),
            changed=tuple(
                dict.fromkeys(change.path for step in plan.steps for change in step.changes)
            ),
            lost=plan.not_restorable,
            undoes=plan.undoes,
        )
        return journal

    def add(self, event: Event, **fields: Any) -> None:
        """Write a line; it is on disk when this returns."""
        if event == "sending" and self.lines[0].undoes:
            # From now on the rollback can be resumed instead.
            abandon_others(self.path.parent, self.lines[0].device, self.path)
        line = JournalLine(datetime.now(UTC).isoformat(timespec="milliseconds"), event, **fields)
        os.write(self._descriptor, msgspec.json.encode(line) + b"\n")
        os.fsync(self._descriptor)
        self.lines.append(line)

    def finish(self) -> None:
        """Record the completion; the plan is no longer needed."""
        self.add("done")
        abandon(self.path)

    def stop(self, why: str) -> None:
        """Record why the work was given up; if nothing was sent, there is nothing to resume."""
        self.add("stopped", told=why)
        if all(line.event != "sending" for line in self.lines):
            abandon(self.path)

    @property
    def confirmed(self) -> int:
        """The number of steps known to be carried out."""
        return count_confirmed_steps(self.lines)

    @property
    def is_uncertain(self) -> bool:
        """Return whether a further step was sent whose outcome is unknown."""
        sent = max((line.step for line in self.lines if line.event == "sending"), default=0)
        return sent > self.confirmed

    def close(self) -> None:
        os.close(self._descriptor)


def count_confirmed_steps(lines: Iterable[JournalLine]) -> int:
    """Return the number of steps known to be carried out."""
    return max((line.step for line in lines if line.event == "confirmed"), default=0)


def plan_beside(journal: Path) -> UnitPlan:
    """Read the plan of an unfinished journal."""
    try:
        (plan,) = read_plans(plan_path(journal))
    except FileNotFoundError:
        raise BadPlan(f"{journal} was finished by another process in the meantime.") from None
    return plan


def plan_path(journal: Path) -> Path:
    """Return the path of the plan of an unfinished journal."""
    return journal.with_name(journal.name.removesuffix(SUFFIX) + PLAN_SUFFIX)


def _file_name(unit: str) -> str:
    name = unit.lower().removeprefix("http://").removeprefix("https://")
    return "".join(letter if letter in _SAFE else "-" for letter in name).strip(".-") or "unit"


def read_journal(path: Path) -> tuple[JournalLine, ...]:
    """Read a journal; ignore an incomplete last line."""
    found = []
    *lines, rest = path.read_bytes().split(b"\n")
    try:
        found = [msgspec.json.decode(line, type=JournalLine) for line in lines]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadPlan(f"{path} is not the journal of a change.") from None
    if not found or found[0].event != "begun":
        raise BadPlan(f"{path} is not the journal of a change.")
    return tuple(found)


def abandon(journal: Path) -> None:
    """Mark a change so that it is no longer resumed."""
    plan_path(journal).unlink(missing_ok=True)


def abandon_others(folder: Path, device: str, keep: Path | None = None) -> None:
    """Mark all unfinished changes of a unit except one so that they are no longer resumed."""
    for path in find_unfinished(folder):
        if path != keep and read_journal(path)[0].device == device:
            abandon(path)


def find_unfinished(folder: Path) -> list[Path]:
    """Return the unfinished journals in a folder, oldest first."""
    paths = [path for path in sorted(folder.glob(f"*{SUFFIX}")) if plan_path(path).exists()]
    return [path for path in paths if path.stat().st_size and not _is_idle_rollback(path)]


def _is_idle_rollback(path: Path) -> bool:
    """Return whether a rollback has sent nothing; the change that it reverts is then resumed."""
    lines = read_journal(path)
    return bool(lines[0].undoes) and all(line.event != "sending" for line in lines)


def refuse_unfinished(folder: Path) -> None:
    if left := find_unfinished(folder):
        for path in left:
            refuse_held(plan_beside(path))
        raise BadPlan(
            f"{left[0]} is not finished: continue with `{resume_command(folder)}`, or revert with "
            f"`{rollback_command(left[0])}`."
        )


def resume_command(folder: Path, options: Sequence[str] = ()) -> str:
    """Return the command that resumes the unfinished changes of a folder of journals."""
    return shlex.join(
        ["leverframe", "unit", "apply", "--resume", "--journal", str(folder), *options]
    )


def rollback_command(journal: Path, options: Sequence[str] = ()) -> str:
    """Return the command that reverts the change of a journal."""
    return shlex.join(["leverframe", "unit", "rollback", str(journal), *options])


def reopen_journal(path: Path) -> ApplyJournal:
    """Open a journal to continue it, without an incomplete last line."""
    lines = read_journal(path)
    journal = ApplyJournal(path, lines)
    whole = path.read_bytes().rpartition(b"\n")
    os.ftruncate(journal._descriptor, len(whole[0]) + len(whole[1]))
    os.lseek(journal._descriptor, 0, os.SEEK_END)
    return journal


# Report the incomplete state after a change of a unit stopped, with the commands to proceed.

P = ParamSpec("P")
_OK = 200


def speaks_when_interrupted(function: Callable[P, Awaitable[int]]) -> Callable[P, Awaitable[int]]:
    """Let a command report that nothing was sent if Ctrl-C ends it before it sends anything.

    If Ctrl-C interrupts the sending, `execution.py` reports this for each unit.
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
