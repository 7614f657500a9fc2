"""Changes of units from the page of the watch: compare with the file, plan, carry out.

The plans are those of `leverframe unit plan` and `unit apply`, with the same verification on a
twin, read-back and journals. Only the planned unit is changed, and only by the plan that was shown.
While a plan is carried out, the unit is not polled.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.units.comparison import DriftedSetting, drift_from
from leverframe.units.execution import Applier, ApplyInterrupted, ApplyStopped
from leverframe.units.journal import ApplyJournal, refuse_unfinished
from leverframe.units.presentation import DescribedStep, describe_steps
from leverframe.units.proof import plan_for_file
from leverframe.units.unit_file import UnitFile
from leverframe.units.unit_lock import unit_held
from leverframe.units.unit_plan import LeftOutSetting, SettingChange, UnitPlan
from leverframe.units.unit_reader import pull_unit
from leverframe.units.watcher import UnitWatcher

log = logging.getLogger(__name__)

#: Returns the file of a unit for its version, with its secrets.
Wanted = Callable[[Profile], UnitFile | None]


class CannotChange(ErrorForPeople):
    """A unit cannot be changed from the page; the message says why in one sentence."""


class UnseenSetting(Struct, frozen=True):
    """A setting that a plan touches although the unit hides it."""

    path: str
    fate: Literal["kept", "set", "removed"]
    #: Its new value, with secrets masked.
    value: str = ""
    is_lost: Annotated[bool, Meta(description="Whether no rollback can restore it.")] = False


class ShownPlan(Struct, frozen=True):
    """A plan in a form that the page shows in its own language."""

    #: Identifies exactly this plan.
    key: str
    steps: tuple[DescribedStep, ...]
    left_out: tuple[LeftOutSetting, ...]
    unseen: tuple[UnseenSetting, ...] = ()


class ChangeProgress(Struct):
    """The progress of a plan."""

    done: int
    steps: int
    is_over: bool = False
    trouble: Annotated[str, Meta(description="Why it stopped, in a sentence.")] = ""


class UnitChanges:
    def __init__(self, watcher: UnitWatcher, wanted: dict[str, Wanted], journals: Path) -> None:
        self._watcher = watcher
        #: By name of the unit, for units with a file.
        self.wanted = wanted
        self._journals = journals
        self._plans: dict[str, tuple[str, UnitPlan]] = {}
        self.progress: dict[str, ChangeProgress] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def compare(self, name: str) -> list[DriftedSetting]:
        """Read a unit and return its differences from its file, side by side."""
        async with self._watcher.turn(name) as client:
            pulled = self._watcher.require_expected(name, await pull_unit(client))
        return drift_from(self._file(name, pulled.profile), pulled)

    async def plan(self, name: str) -> ShownPlan:
        """Plan the changes of a unit to match its file; only read requests are sent."""
        self._refuse_running(name)
        async with self._watcher.turn(name) as client:
            mac = self._watcher.units[name].mac
            pulled = self._watcher.require_expected(name, await pull_unit(client, mac=mac))
        plan = await plan_for_file(name, pulled, self._file(name, pulled.profile))
        key = _key_of(plan)
        self._plans[name] = key, plan
        unseen = tuple(_unseen(plan))
        return ShownPlan(key, tuple(describe_steps(plan)), plan.left_out, unseen)

    def apply(self, name: str, key: str) -> ChangeProgress:
        """Start to carry out the plan that was shown; return its progress, which is updated."""
        self._refuse_running(name)
        shown, plan = self._plans.get(name, ("", None))
        if plan is None or key != shown:
            raise CannotChange(f"This is not the latest plan for {name}; plan again.")
        refuse_unfinished(self._journals)
        del self._plans[name]
        progress = self.progress[name] = ChangeProgress(0, len(plan.steps))
        self._running[name] = asyncio.create_task(self._carry_out(name, plan, progress))
        return progress

    async def _carry_out(self, name: str, plan: UnitPlan, progress: ChangeProgress) -> None:
        def advance() -> None:
            progress.done += 1

        try:
            with unit_held(plan):
                journal = ApplyJournal.begin(self._journals, plan)
                try:
                    async with self._watcher.turn(name) as client:
                        await Applier(plan, client, journal, advance).run()
                finally:
                    journal.close()
        except ApplyInterrupted as error:
            # The program is stopping: no one reads the result.
            log.warning("%s", error.words)
            progress.trouble, progress.is_over = str(error), True
            del self._running[name]
            return
        except ApplyStopped as error:
            log.warning("%s", error.words)
            progress.trouble = str(error)
        except ErrorForPeople as error:
            progress.trouble = str(error)
        except Exception:
            log.exception("%s: a plan could not be carried out", name)
            progress.trouble = "The plan could not be carried out; see the log."
        progress.is_over = True
        await self._watcher.pull(name)
        del self._running[name]

    async def wait_until_done(self, name: str) -> None:
        """Wait until no plan is being carried out on a unit."""
        if (task := self._running.get(name)) is not None:
            await asyncio.wait([task])

    def _file(self, name: str, profile: Profile) -> UnitFile:
        wanted = self.wanted.get(name)
        file = None if wanted is None else wanted(profile)
        if file is None:
            raise CannotChange(
                f"The inventory names no file for {name}, so there is nothing to compare."
            )
        return file

    def _refuse_running(self, name: str) -> None:
        if name in self._running:
            raise CannotChange(f"A plan is being carried out on {name}; wait until it is done.")

    async def close(self) -> None:
        """Stop all plans where they are; the journals record how far they got."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _unseen(plan: UnitPlan) -> Iterator[UnseenSetting]:
    lost = plan.cannot_be_undone
    for one in plan.unreadable:
        value = SettingChange(one.path).show(one.becomes) if one.fate == "set" else ""
        yield UnseenSetting(one.path, one.fate, value, one in lost)


def _key_of(plan: UnitPlan) -> str:
    content: dict[str, Any] = {"digest": plan.digest, "steps": plan.steps}
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:32]
