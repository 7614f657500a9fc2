"""`/api/state` and `/api/stream`: every live value by label, once or as server-sent events."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct

from leverframe.core.engine import pid
from leverframe.core.engine.journal import OWN_CAUSES, Cause
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.rule_explanation import RuleExplanation
from leverframe.core.engine.schedule import ScheduleExplanation
from leverframe.core.engine.timers import WallTime
from leverframe.core.engine.watchdog import WatchdogExplanation
from leverframe.core.labels import LABELS, LIGHTING, OUTPUTS, READINGS
from leverframe.devices.modbus_writer import WriteReport
from leverframe.devices.modem_line import ModemState
from leverframe.devices.module_slot import SlotReport, SlotStatistics
from leverframe.host.controller import Controller
from leverframe.host.controller.findings import FindingReport
from leverframe.interface.table.row import ADMIN
from leverframe.server.http.messages import NOT_KEPT, StreamReply
from leverframe.server.routes.context import Context, StreamShare

# `/api/state`: every live value by label, with its cause.


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


# `/api/stream`: the live state as server-sent events, a full state first, then what changed.
#
# A message without content, `settings`, reports a change of the settings.
#
# Nothing is polled: the controller wakes a stream when something changed, and changes that come
# in quick succession are sent together. A heartbeat every two seconds shows that the controller
# is alive, with its own clock, until which a request may be valid (`X-Valid-Until`). The stream
# ends when its client signs out or loses the account. It then sends only that settings have
# changed: a page that has just changed its own account continues with that.

EVENT_STREAM = "text/event-stream"
#: Real seconds between two changes of one stream at least.
GATHER_S = 0.1
#: Real seconds between two heartbeats.
HEARTBEAT_S = 2.0
#: Values that are different whenever one looks, unless time is virtual; they come along with real
#: changes.
ALWAYS_MOVING = ("time", "uptime", "modbus_statistics")
#: Values that a message of its own is sent for.
SENT_SEPARATELY = ("settings_revision",)


def stream(context: Context) -> StreamReply:
    share = context.handlers.streams.share_of(context.account, context.request.peer)
    is_still_admitted = context.handlers.admission.watch(context.request)
    for_admin = context.account.role == ADMIN
    states = state_stream(context.controller, is_still_admitted, for_admin=for_admin)
    chunks = within_share(share, states)
    return StreamReply(200, EVENT_STREAM, chunks, (NOT_KEPT,))


async def within_share(
    share: StreamShare, chunks: AsyncGenerator[bytes, None]
) -> AsyncIterator[bytes]:
    if not share.take():
        return
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    finally:
        share.give_back()


async def state_stream(
    controller: Controller, is_still_admitted: Callable[[], bool], *, for_admin: bool
) -> AsyncGenerator[bytes, None]:
    changed = asyncio.Event()
    controller.watchers.add(changed.set)
    try:
        last, settings = state_of(controller, for_admin=for_admin), controller.engine.settings
        ignored = SENT_SEPARATELY if last["virtual_time"] else SENT_SEPARATELY + ALWAYS_MOVING
        yield message("state", last)
        clock = asyncio.get_running_loop().time
        next_beat = clock()
        while True:
            has_changed = await within(changed, max(0.0, next_beat - clock()))
            is_admitted = is_still_admitted()
            if not is_admitted and controller.engine.settings is settings:
                return
            if clock() >= next_beat:
                yield heartbeat()
                next_beat = clock() + HEARTBEAT_S
            if not has_changed:
                continue
            await asyncio.sleep(GATHER_S)
            changed.clear()
            new = state_of(controller, for_admin=for_admin) if is_admitted else last
            difference = {name: new[name] for name in new if new[name] != last.get(name)}
            last = new
            if any(name not in ignored for name in difference):
                yield message("change", difference)
            if controller.engine.settings is not settings:
                settings = controller.engine.settings
                yield message("settings", {})
    finally:
        controller.watchers.discard(changed.set)


async def within(changed: asyncio.Event, seconds: float) -> bool:
    # Not by wait_for, which on Python 3.11 ignores a cancellation at the moment of a change: the
    # stream would continue for a client that has left.
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


def heartbeat() -> bytes:
    return message("heartbeat", {"clock": time.time()})


def message(kind: str, content: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(content))
