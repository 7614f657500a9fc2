"""The document behind `/api/state` and `/api/stream`: every live value by label, with its cause.

Each member is a segment, which is built again when its inputs have changed.
"""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct

from leverframe.core.engine import pid
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import OWN_CAUSES, Cause
from leverframe.core.engine.live_rule import SWITCHED
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.rule_explanation import RuleExplanation
from leverframe.core.engine.schedule import ScheduleExplanation
from leverframe.core.engine.timers import Moment, WallTime
from leverframe.core.engine.watchdog import WatchdogExplanation
from leverframe.core.labels import DIGITAL_INPUTS, LABELS, LIGHTING, OUTPUTS, READINGS
from leverframe.devices.modbus_writer import WriteReport
from leverframe.devices.modem_line import ModemState
from leverframe.devices.module_slot import SlotReport, SlotStatistics
from leverframe.host.controller import Controller
from leverframe.host.controller.findings import FindingReport
from leverframe.interface.status_files.segments import (
    ALWAYS,
    CLOCK,
    Document,
    DocumentLayout,
    Segment,
)


class ProfileReport(Struct, frozen=True):
    hw: str
    sw: str


if TYPE_CHECKING:
    Lighting = dict[str, float | None]
    ReturnsIn = dict[str, float]
else:
    # A type checker accepts no computed keys.
    Lighting = TypedDict("Lighting", dict.fromkeys(LIGHTING, float | None))
    ReturnsIn = TypedDict("ReturnsIn", dict.fromkeys(OUTPUTS, float), total=False)


class Switching(Struct, frozen=True):
    """The last cause of a change, and its time."""

    time: WallTime
    by: Annotated[
        Cause,
        Meta(
            description="The cause and the deciding facts. Account and address are shown to "
            "administrators only."
        ),
    ]


class StateBesideValues(TypedDict):
    profile: ProfileReport
    time: WallTime
    timezone: Annotated[
        str,
        Meta(description="The time zone of schedule, clock and pages, such as `Europe/Warsaw`."),
    ]
    virtual_time: bool
    uptime: Annotated[float, Meta(description="Seconds since the start.")]
    restart: Literal[0, 1]
    settings_revision: Annotated[
        int, Meta(description="The number of changes of settings since the start.")
    ]
    absent_since: dict[str, float | None]
    returns_in: Annotated[
        ReturnsIn, Meta(description="Seconds until the return time switches an output off.")
    ]
    switched: Annotated[
        dict[str, Switching],
        Meta(
            description="The last cause that switched an output, PWM output or variable, or the "
            "time when a contact changed, by label."
        ),
    ]
    rules: list[RuleExplanation]
    schedule: list[ScheduleExplanation]
    watchdog: list[WatchdogExplanation]
    pid: pid.Explanation
    barcode: Annotated[str | None, Meta(description="The last scanned code.")]
    lighting: Annotated[Lighting, Meta(description="State reported by the lighting module.")]
    troubles: dict[str, str]
    findings: Annotated[list[FindingReport], Meta(description="The findings, worst first.")]
    ports: Annotated[dict[str, int], Meta(description="The open ports, by protocol.")]


class ReportsOfParts(TypedDict):
    """The members that parts around the controller add by `controller.reports`."""

    modem: ModemState
    #: Where Modbus modules are connected, by slot.
    modbus: NotRequired[dict[str, SlotReport]]
    modbus_statistics: NotRequired[dict[str, SlotStatistics]]
    modbus_writes: NotRequired[list[WriteReport]]


if TYPE_CHECKING:
    State = dict[str, Any]
else:
    # The document is flat, because clients look up a value by its label.
    State = TypedDict(
        "State",
        {
            **{label: float | None if label in READINGS else int | None for label in LABELS},
            **dict.fromkeys(DUTIES, float | None),
            **StateBesideValues.__annotations__,
            **ReportsOfParts.__annotations__,
        },
    )


def _without_requester(cause: Cause) -> Cause:
    """Remove account and address from a cause; the engine's own causes have neither."""
    return cause if cause.kind in OWN_CAUSES else Cause(cause.kind)


class StateView(Struct, frozen=True):
    """The data from which the members of the state are built, at one moment."""

    controller: Controller
    at: Moment
    for_admin: bool

    @property
    def engine(self) -> Engine:
        return self.controller.engine


def _show_profile(view: StateView) -> ProfileReport:
    profile = view.controller.profile
    return ProfileReport(profile.hw, profile.sw)


def _show_returns(view: StateView) -> dict[str, float]:
    outputs, now = view.engine.outputs, view.at.now
    if not outputs.returns:
        return {}
    return {
        label: seconds
        for index, label in enumerate(OUTPUTS)
        if (seconds := outputs.returns_in(index, now)) is not None
    }


def _show_switched(view: StateView) -> dict[str, Switching]:
    machine, for_admin = view.engine.machine, view.for_admin
    return {
        label: Switching(wall, cause if for_admin else _without_requester(cause))
        for label, (wall, cause, _) in (machine.switched | machine.regulated).items()
    }


def _show_findings(view: StateView) -> list[FindingReport]:
    findings = view.controller.findings.report()
    return [finding for finding in findings if view.for_admin or finding.is_public]


class StateMember(Struct, frozen=True):
    """A member of the state, and the inputs on which it depends (`segments.py`)."""

    name: str
    inputs: Collection[str]
    show: Callable[[StateView], Any]

    def build(self, view: StateView) -> bytes:
        return b'"%b":%b' % (self.name.encode(), msgspec.json.encode(self.show(view)))


def _value(label: str) -> StateMember:
    return StateMember(label, (label,), lambda view: view.engine.machine.values[label])


def _report(name: str) -> StateMember:
    return StateMember(name, (ALWAYS,), lambda view: view.controller.reports[name]())


#: The input that stands for the reports of parts around the engine.
AROUND = "around the engine"
#: Labels whose values can be absent.
_MEASURED = (*READINGS, *DIGITAL_INPUTS)
_OF_PARTS = ("findings", "pid", "rules", "settings", "watchdog", CLOCK, AROUND)

_MEMBERS = (
    *map(_value, (*LABELS, *DUTIES)),
    StateMember("profile", (), _show_profile),
    StateMember("time", (ALWAYS,), lambda view: view.at.wall),
    StateMember("timezone", ("timezone",), lambda view: str(view.engine.machine.timezone)),
    StateMember("virtual_time", (), lambda view: view.controller.clock.is_virtual),
    StateMember("uptime", (ALWAYS,), lambda view: view.engine.uptime(view.at)),
    StateMember("restart", ("restart",), lambda view: int(view.engine.machine.restart_flag)),
    StateMember("settings_revision", (AROUND,), lambda view: view.controller.settings_revision),
    StateMember("absent_since", _MEASURED, lambda view: view.engine.machine.absent_since),
    StateMember("returns_in", (ALWAYS,), _show_returns),
    StateMember("switched", (*SWITCHED, *DIGITAL_INPUTS), _show_switched),
    StateMember("rules", ("rules",), lambda view: view.engine.rules.explain(view.at.now)),
    StateMember("schedule", ("schedule",), lambda view: view.engine.schedule.explain()),
    StateMember("watchdog", ("watchdog",), lambda view: view.engine.watchdog.explain()),
    StateMember("pid", (ALWAYS,), lambda view: view.engine.pid.explain()),
    StateMember("barcode", ("barcode",), lambda view: view.engine.inputs.barcode),
    StateMember("lighting", LIGHTING, lambda view: view.engine.inputs.lighting),
    StateMember("troubles", (AROUND,), lambda view: view.controller.troubles),
    StateMember("findings", (*_MEASURED, *SWITCHED, *_OF_PARTS), _show_findings),
    StateMember("ports", (AROUND,), lambda view: view.controller.open_ports()),
)


class StateLayout:
    """The members of the state of a controller that has these reports of parts."""

    def __init__(self, reports: tuple[str, ...]) -> None:
        self.reports = reports
        self.members = (*_MEMBERS, *map(_report, reports))
        segments = [Segment(member.inputs, member.build) for member in self.members]
        self.document = DocumentLayout(b"{", b",", b"}", segments)


#: One layout for all controllers with the same parts.
_layout_of = lru_cache(maxsize=16)(StateLayout)


class StateDocuments:
    """`/api/state` of one controller, for administrators and for others."""

    __slots__ = ("_controller", "_documents", "_layout")

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._layout = _layout_of(())
        #: The documents requested so far; the key is True for administrators.
        self._documents: dict[bool, StateDocument] = {}

    def build(self, *, for_admin: bool) -> bytes:
        return self._refresh(for_admin).content()

    def members(self, *, for_admin: bool) -> list[bytes]:
        """Return each member as it is in the document."""
        return self._refresh(for_admin).parts.copy()

    def name_of(self, place: int) -> str:
        return self._layout.members[place].name

    def _refresh(self, for_admin: bool) -> "StateDocument":
        controller = self._controller
        reports = tuple(controller.reports)
        if reports != self._layout.reports:
            self._layout = _layout_of(reports)
            self._documents.clear()
        document = self._documents.get(for_admin)
        if document is None:
            document = self._documents[for_admin] = StateDocument(self._layout)
        document.follow(StateView(controller, controller.clock.read(), for_admin))
        return document


class StateDocument(Document[StateView]):
    __slots__ = ("_around",)

    def __init__(self, layout: StateLayout) -> None:
        super().__init__(layout.document)
        #: The last reports of parts around the engine.
        self._around: tuple[object, ...] = ()

    def follow(self, view: StateView) -> None:
        controller = view.controller
        found = [tuple(source()) for source in controller.findings.sources]
        revisions = controller.troubles.revision, controller.settings_revision
        former, self._around = self._around, (revisions, controller.open_ports(), found)
        others = (AROUND,) if self._around != former else ()
        self.refresh(controller.engine, view.at, lambda: view, others)
