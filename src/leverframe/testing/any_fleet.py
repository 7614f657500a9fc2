"""The methods of every fleet, in this process or at a node elsewhere.

The methods use the API of the node, like `leverframe fleet`. Names and tags select the controllers
that have one of the names and all of the tags; without names and tags, all are selected.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from leverframe.core.durations import Duration, WhenText, seconds_of
from leverframe.devices.simulated.fault_catalogue import Fault
from leverframe.fleet.bulk import DONE, BulkReport, MemberResult
from leverframe.fleet.client import NodeAsking, NodeRefused, write_export
from leverframe.fleet.groups import KeptSnapshot
from leverframe.fleet.jobs.job_state import UNDER_WAY, JobReport
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations import (
    bulk_commands,
    controllers,
    new_controllers,
    nodes,
    rollouts,
    time,
)
from leverframe.fleet.operations.nodes import (
    AdvanceReport,
    ExportedController,
    MadeReport,
    MemberDetails,
    MemberReport,
    NodeHealth,
    NodeReport,
)
from leverframe.fleet.operations.time import advance_time
from leverframe.host.configuration import Config
from leverframe.host.maintenance.configuration import GivenTemplate, template_body
from leverframe.testing.any_twin import AnyTwin
from leverframe.testing.twin_parts import TwinClock

# A roll-out over the controllers of a node, carried out by the node.

#: The pause before the node is first polled for progress, and the longest pause later.
FIRST_LOOK_S = 0.01
LAST_LOOK_S = 0.5


class TwinRollout:
    """A roll-out that has been started; every method returns when it ends or stops."""

    def __init__(self, node: NodeAsking, id: str) -> None:
        self._node = node
        self._id = {"id": id}

    @property
    def report(self) -> JobReport:
        """The progress: status, groups, why it has stopped, and the result of each twin."""
        return self._node.carry_out(rollouts.show_rollout, self._id)

    @property
    def status(self) -> str:
        return self.report.status

    @property
    def failed(self) -> list[MemberResult]:
        """The results of the twins that failed."""
        return [one for one in self.report.results if one.status != DONE]

    def start(self) -> "TwinRollout":
        """Start with the first group."""
        return self._operate(rollouts.start_rollout)

    def resume(self) -> "TwinRollout":
        """Continue although some twins have failed."""
        return self._operate(rollouts.resume_rollout)

    def retry(self) -> "TwinRollout":
        """Retry the failed twins, and no others."""
        return self._operate(rollouts.retry_rollout)

    def undo(self) -> "TwinRollout":
        """Restore the previous settings of the changed twins."""
        return self._operate(rollouts.undo_rollout)

    def _operate(self, operation: Operation[JobReport]) -> "TwinRollout":
        report, pause_s = self._node.carry_out(operation, self._id), FIRST_LOOK_S
        while report.status in UNDER_WAY:
            if report.why is not None:
                raise NodeRefused(f"The roll-out is waiting: {report.why}")
            sleep(pause_s)
            report, pause_s = self.report, min(2 * pause_s, LAST_LOOK_S)
        return self


#: One tag, or several; a controller must have all of them.
Tags = str | Sequence[str]
_NO_FAULT = "none"
NOTHING: Mapping[str, Any] = MappingProxyType({})

TwinOf = TypeVar("TwinOf", bound=AnyTwin, covariant=True)
_Report = TypeVar("_Report")


class AnyFleet(ABC, Generic[TwinOf]):
    """Controllers of one node; `NodeRefused` is raised with the reason if it refuses a request."""

    def __init__(self, node: NodeAsking) -> None:
        self._asked = node
        #: The common clock of the controllers, which the code under test can use.
        self.clock = TwinClock(lambda: self.now)

    @property
    def url(self) -> str:
        """The address of the node: of its page, and of its API below `/api/fleet`."""
        return self._asked.url

    # --- queries ----------------------------------------------------------------------------------

    def overview(self) -> NodeReport:
        """Report on the node: counts, tags, versions, the time, snapshots, problems."""
        return self._do(nodes.show_overview)

    def health(self) -> NodeHealth:
        """Return the health of the node and its controllers, as supervisors see it."""
        report = self._do(nodes.show_health)
        assert isinstance(report, NodeHealth)
        return report

    def listed(self, *names: str, tag: Tags = ()) -> list[MemberReport]:
        """List controllers: version, tags, health, time, and address."""
        return self._do(controllers.list_controllers, _selection(names, tag))

    def show(self, name: str) -> MemberDetails:
        """Report on one controller, with the settings that differ from the factory settings."""
        return self._do(controllers.show_controller, {"name": name})

    def find(self, *names: str, tag: Tags = ()) -> list[TwinOf]:
        """Return controllers as twins."""
        return [self._twin_of(report) for report in self.listed(*names, tag=tag)]

    @abstractmethod
    def _twin_of(self, report: MemberReport) -> TwinOf:
        """Return the twin of a controller."""

    @property
    def now(self) -> datetime:
        """The common time, in the time zone of the node."""
        report = self.overview()
        return datetime.fromtimestamp(report.time, Config(timezone=report.timezone).zone())

    # --- creation and places ----------------------------------------------------------------------

    def add(
        self,
        name: str,
        *,
        count: int = 1,
        first: int = 1,
        template: GivenTemplate | None = None,
        hw: str | None = None,
        sw: str | None = None,
        tags: Tags = (),
        address: str | None = None,
        port: int | None = None,
        dry_run: bool = False,
    ) -> MadeReport:
        """Create controllers, all or none: `add("gh-{n}", count=3, hw="3.5", tags="north")`.

        The new controllers start with the settings of a `template`: a backup (`.toml`, `.json`,
        `.bin`), or values by path. The first controller gets the given address and port; each
        further controller gets the next address or port.
        """
        body = None if template is None else template_body(template, hw, sw)
        given = {"name": name, "count": count, "first": first, "hw": hw, "sw": sw}
        given |= {"tags": _list_of(tags), "address": address, "port": port, "dry_run": dry_run}
        return self._make(new_controllers.add_controllers, given, body)

    def fork(
        self,
        name: str,
        to: str,
        *,
        count: int = 1,
        first: int = 1,
        tags: Tags = (),
        address: str | None = None,
        port: int | None = None,
    ) -> MadeReport:
        """Create controllers that continue from another: `fork("gh-1", "copy-{n}", count=3)`.

        In real time the new controllers start with the settings of the original. `address` and
        `port` work as in `add`.
        """
        given = {"name": name, "to": to, "count": count, "first": first, "tags": _list_of(tags)}
        return self._make(
            new_controllers.fork_controller, {**given, "address": address, "port": port}
        )

    def remove(self, *names: str, tag: Tags = ()) -> BulkReport:
        """Remove controllers with all their stored data; requires a selection."""
        return self._do(controllers.remove_controllers, _selection(names, tag))

    def rename(self, name: str, to: str) -> MemberReport:
        """Rename a controller."""
        return self._do(controllers.rename_controller, {"name": name, "to": to})

    def place(
        self, name: str, *, address: str | None = None, port: int | None = None
    ) -> MemberReport:
        """Set or remove the address or port of a controller.

        Example: `place("gh-1", address="127.0.0.7")`. The address `"none"` and the port 0 remove
        the present value; an omitted value stays unchanged. The controller keeps running, but its
        connections end.
        """
        given = {"name": name, "address": address, "port": port}
        return self._do(controllers.place_controller, given)

    def start_again(self, *names: str) -> BulkReport:
        """Retry controllers that failed to start; without names, all failed controllers."""
        return self._do(new_controllers.start_controllers, {"name": list(names)})

    def tag(self, *names: str, tag: Tags = (), add: Tags = (), remove: Tags = ()) -> BulkReport:
        """Add and remove tags of controllers: `tag("gh-1", add="north")`."""
        changed = {"add": _list_of(add), "remove": _list_of(remove)}
        return self._do(controllers.tag_controllers, {**_selection(names, tag), **changed})

    def export(self, *names: str, tag: Tags = ()) -> list[ExportedController]:
        """Return controllers in the form of a fleet file and settings files, without secrets."""
        return self._do(controllers.export_controllers, _selection(names, tag))

    def export_to(self, folder: str | Path, *names: str, tag: Tags = ()) -> dict[str, Path]:
        """Write `fleet.toml` and settings files into a new folder; return the files.

        `leverframe fleet run --config` reads the result.
        """
        return write_export(Path(folder), self.export(*names, tag=tag))

    # --- together ---------------------------------------------------------------------------------

    def send(
        self,
        command: str,
        *names: str,
        tag: Tags = (),
        dry_run: bool = False,
        all_or_none: bool = False,
    ) -> BulkReport:
        """Carry out a command; the report has a result for each controller, including refusals.

        Example: `send("outs.cgi?out0=1", tag="north")`. A body follows the command after a space.
        With `dry_run` nothing is changed; with `all_or_none` nothing is changed if one of the
        controllers refuses.
        """
        target, _, body = command.strip().partition(" ")
        how = {"command": target, "dry_run": dry_run, "all_or_none": all_or_none}
        return self._do(
            bulk_commands.send_command, {**_selection(names, tag), **how}, body.encode() or None
        )

    def fault(self, fault: Fault | str, *names: str, tag: Tags = (), seed: int = 0) -> BulkReport:
        """Set a fault on controllers.

        Example: `fault(faults.slow("5s"), tag="north")`. A text is a fault in the syntax of
        `/sim.cgi`. Each controller has its own seed, derived from the given one.
        """
        text = fault if isinstance(fault, str) else fault.text
        return self._do(
            bulk_commands.set_faults, {**_selection(names, tag), "fault": text, "seed": seed}
        )

    def end_faults(self, *names: str, tag: Tags = ()) -> BulkReport:
        """End all faults of controllers."""
        return self.fault(_NO_FAULT, *names, tag=tag)

    def snapshot(self, label: str, *names: str, tag: Tags = ()) -> BulkReport:
        """Take a snapshot of controllers under a label; the node keeps up to 20 snapshots."""
        return self._do(time.take_snapshot, {**_selection(names, tag), "label": label})

    def snapshots(self) -> list[KeptSnapshot]:
        """List the snapshots that the node keeps: label, time, and number of controllers."""
        return self._do(time.list_snapshots)

    def remove_snapshot(self, label: str) -> KeptSnapshot:
        """Remove a snapshot from the node and return its report; the label is free again."""
        return self._do(time.remove_snapshot, {"label": label})

    def restore(self, label: str, *names: str, tag: Tags = ()) -> BulkReport:
        """Restore controllers from a snapshot; in real time they restart with it."""
        report = self._do(time.restore_controllers, {**_selection(names, tag), "label": label})
        self.clock.was_moved()
        return report

    def roll_out(
        self,
        *commands: str,
        groups: str = "rest",
        success: float = 100.0,
        errors: str = "none",
        check_health: bool = True,
        names: Sequence[str] = (),
        tag: Tags = (),
    ) -> TwinRollout:
        """Roll out commands in groups, and wait until the roll-out ends or stops.

        Example: `roll_out("stm.cgi?eventname=1Frost", groups="1,10%,rest")`. The roll-out stops if
        less than `success` percent of a group succeed, or after a number of `errors` (a count or a
        percentage).
        """
        how = {"groups": groups, "success": success, "errors": errors}
        how |= {"check_health": "1" if check_health else "0"}
        planned = self._do(
            rollouts.plan_rollout, {**_selection(names, tag), **how}, "\n".join(commands).encode()
        )
        assert planned.job is not None
        return TwinRollout(self._asked, planned.job.id).start()

    # --- time -------------------------------------------------------------------------------------

    def advance(self, duration: Duration, *names: str, tag: Tags = ()) -> None:
        """Let time pass for all controllers; everything that is due happens before this returns.

        The duration is `"10min"`, `"1h30m"`, a number of seconds, or a `timedelta`.
        """
        self._advance({**_selection(names, tag), "for": f"{seconds_of(duration):.9f}"})

    async def aadvance(self, duration: Duration, *names: str, tag: Tags = ()) -> None:
        """Do the same as `advance`, without blocking the event loop of the test."""
        await asyncio.to_thread(lambda: self.advance(duration, *names, tag=tag))

    def advance_to(self, moment: WhenText, *names: str, tag: Tags = ()) -> None:
        """Let time pass until a moment; refuse a moment that is past for one of the controllers.

        The moment is `"2026-03-29T03:00"`, a `datetime`, or seconds since 1970; without an offset
        it is in the time zone of the node.
        """
        self._advance({**_selection(names, tag), "to": _moment_text(moment)})

    def step(self, *names: str, tag: Tags = ()) -> float:
        """Let time pass until something is due; return the seconds, 0 if nothing is due.

        Example: `while not fleet["gh-2"].state["OUT0"]: fleet.step()`.
        """
        return self._advance({**_selection(names, tag), "step": True}).moved_s

    def run_at(self, rate: float) -> None:
        """Run the time of all controllers at this multiple of real time, until `freeze`."""
        self._advance({"rate": rate})

    def freeze(self) -> None:
        """Stop the time of all controllers."""
        self._advance({"rate": 0})

    def _advance(self, target: dict[str, Any]) -> AdvanceReport:
        report = self._do(advance_time, target)
        self.clock.was_moved()
        return report

    # --- implementation ---------------------------------------------------------------------------

    def _make(
        self,
        operation: Operation[MadeReport],
        parameters: dict[str, Any],
        body: bytes | None = None,
    ) -> MadeReport:
        return self._do(operation, parameters, body)

    def _do(
        self,
        operation: Operation[_Report],
        parameters: Mapping[str, Any] = NOTHING,
        body: bytes | None = None,
    ) -> _Report:
        return self._asked.carry_out(operation, parameters, body)


def _selection(names: Sequence[str], tag: Tags) -> dict[str, Any]:
    return {"name": list(names), "tag": _list_of(tag)}


def _list_of(tags: Tags) -> list[str]:
    return [tags] if isinstance(tags, str) else list(tags)


def _moment_text(moment: WhenText) -> str:
    if isinstance(moment, datetime):
        return moment.isoformat()
    if isinstance(moment, str):
        return moment
    return datetime.fromtimestamp(moment, UTC).isoformat()
