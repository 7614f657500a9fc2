"""`/api/state`: every live value by label, with its cause."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta, Struct

from leverframe.commands.table.row import ADMIN
from leverframe.controller import Controller
from leverframe.controller.findings import FindingReport
from leverframe.engine import pid
from leverframe.engine.journal import OWN_CAUSES, Cause
from leverframe.engine.labels import LABELS, LIGHTING, OUTPUTS, READINGS
from leverframe.engine.moment import WallTime
from leverframe.engine.pwm import DUTIES
from leverframe.engine.rule_explanation import RuleExplanation
from leverframe.engine.schedule import ScheduleExplanation
from leverframe.engine.watchdog import WatchdogExplanation
from leverframe.hardware.modem_status import ModemState
from leverframe.hardware.module_slot import SlotReport, SlotStatistics
from leverframe.hardware.write_reports import WriteReport
from leverframe.servers.routes.context import Context


class ProfileReport(Struct, frozen=True):
    hw: str
    sw: str


if TYPE_CHECKING:
    Lighting = dict[str, float | None]
    ReturnsIn = dict[str, float]
else:
    # A type checker takes no keys that are computed.
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
    # Flat, because clients look a value up by its label.
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


def state(context: Context) -> State:
    return state_of(context.controller, for_admin=context.account.role == ADMIN)


def state_of(controller: Controller, *, for_admin: bool) -> State:
    engine, at = controller.engine, controller.clock.read()
    machine = engine.machine
    beside: StateBesideValues = {
        "profile": ProfileReport(controller.profile.hw, controller.profile.sw),
        "time": at.wall,
        "timezone": str(machine.timezone),
        "virtual_time": controller.clock.is_virtual,
        "uptime": engine.uptime(at),
        "restart": 1 if machine.restart_flag else 0,
        "settings_revision": controller.settings_revision,
        "absent_since": dict(machine.absent_since),
        "returns_in": {
            label: seconds
            for index, label in enumerate(OUTPUTS)
            if (seconds := engine.outputs.returns_in(index, at.now)) is not None
        },
        "switched": {
            label: Switching(wall, cause if for_admin else _without_requester(cause))
            for label, (wall, cause, _) in (machine.switched | machine.regulated).items()
        },
        "rules": engine.rules.explain(at.now),
        "schedule": engine.schedule.explain(),
        "watchdog": engine.watchdog.explain(),
        "pid": engine.pid.explain(),
        "barcode": engine.inputs.barcode,
        "lighting": dict(engine.inputs.lighting),
        "troubles": dict(controller.troubles),
        "findings": [
            finding for finding in controller.findings.report() if for_admin or finding.is_public
        ],
        "ports": controller.open_ports(),
    }
    reports = {key: report() for key, report in controller.reports.items()}
    return {**engine.values, **beside, **reports}
