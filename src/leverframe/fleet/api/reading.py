"""What a node tells: of itself, of its controllers, and figures of all."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from leverframe import __version__
from leverframe.commands.table.refusals import BadValue, Conflict
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import MISSING, difference, is_confidential
from leverframe.fleet.api.context import FleetContext
from leverframe.fleet.bulk import AT_A_TIME
from leverframe.fleet.fleet_metrics import MAX_SINGLE, node_families
from leverframe.fleet.node import FleetNode, Member
from leverframe.fleet.records import MemberRecord
from leverframe.profile import HARDWARE, newest_software
from leverframe.servers.http.messages import Reply
from leverframe.servers.routes.metrics import METRICS
from leverframe.storage.backup import BackupFile
from leverframe.wire.prometheus import prometheus_text

_NEWEST = {hw: newest_software(hw) for hw in HARDWARE}


class MemberReport(Struct, frozen=True):
    """A controller in the list of a node."""

    name: str
    tags: tuple[str, ...]
    hw: str
    sw: str
    status: Literal["ok", "degraded"]
    troubles: list[str]
    time: Annotated[float, Meta(description="By its clock, in seconds since 1970.")]
    url: Annotated[str, Meta(description="Where its pages and commands are.")]
    address: str | None
    port: int | None


class MemberDetails(Struct, frozen=True):
    report: MemberReport
    mac: str
    board: str
    uptime: float
    settings: Annotated[
        dict[str, Any], Meta(description="What differs from the factory settings, by path.")
    ]


class NodeReport(Struct, frozen=True):
    version: str
    controllers: int
    degraded: int
    tags: dict[str, int]
    virtual: bool
    time: float
    newest: Annotated[dict[str, str], Meta(description="The newest software by hardware version.")]
    rate: Annotated[float, Meta(description="Of virtual time that runs; 0 while it stands.")]
    snapshots: list[str]
    troubles: Annotated[list[str], Meta(description="What is wrong with the node itself.")]


class ExportedController(Struct, frozen=True):
    """A controller as a fleet file and a settings file describe it; without secrets."""

    record: MemberRecord
    settings: BackupFile


class NodeHealth(Struct, frozen=True):
    status: Literal["ok", "degraded"]
    controllers: int


def node_health(context: FleetContext) -> NodeHealth:
    members = context.node.members.values()
    is_degraded = context.node.troubles or any(one.controller.troubles for one in members)
    return NodeHealth("degraded" if is_degraded else "ok", len(members))


def node_report(context: FleetContext) -> NodeReport:
    node = context.node
    tags: dict[str, int] = {}
    for member in node.members.values():
        for tag in member.record.tags:
            tags[tag] = tags.get(tag, 0) + 1
    return NodeReport(
        __version__,
        len(node.members),
        sum(bool(member.controller.troubles) for member in node.members.values()),
        dict(sorted(tags.items())),
        node.is_virtual,
        node.clock.wall(),
        _NEWEST,
        context.time.rate,
        context.snapshots.labels,
        [f"{part}: {sentence}" for part, sentence in sorted(node.troubles.items())],
    )


async def listed(context: FleetContext) -> list[MemberReport]:
    return [
        report_of_member(context.node, member) async for member in in_turns(await context.chosen())
    ]


async def in_turns(members: list[Member]) -> AsyncIterator[Member]:
    """Give other requests their turn now and then: there may be thousands."""
    for number, member in enumerate(members, start=1):
        yield member
        if number % AT_A_TIME == 0:
            await asyncio.sleep(0)


def report_of_member(node: FleetNode, member: Member) -> MemberReport:
    controller, record = member.controller, member.record
    return MemberReport(
        record.name,
        record.tags,
        controller.profile.hw,
        controller.profile.sw,
        "degraded" if controller.troubles else "ok",
        [f"{part}: {sentence}" for part, sentence in sorted(controller.troubles.items())],
        controller.clock.wall(),
        node.door.url_of(record.name),
        record.address,
        record.port,
    )


def shown(context: FleetContext) -> MemberDetails:
    member = context.one()
    controller = member.controller
    return MemberDetails(
        report_of_member(context.node, member),
        member.built.mac,
        controller.board.kind,
        controller.engine.uptime(controller.clock.read()),
        changed_settings_of(member),
    )


def changed_settings_of(member: Member) -> dict[str, Any]:
    """Return what differs from the factory settings, as a backup without secrets has it."""
    controller = member.controller
    leaves = difference(defaults(controller.profile), controller.engine.settings)
    return {
        path: value
        for path, _, value in leaves
        if value is not MISSING and not (path.startswith("profile.") or is_confidential(path))
    }


async def exported(context: FleetContext) -> list[ExportedController]:
    return [
        ExportedController(
            msgspec.structs.replace(member.record, hw=profile.hw, sw=profile.sw),
            BackupFile(profile.hw, profile.sw, changed_settings_of(member)),
        )
        async for member in in_turns(await context.chosen())
        if (profile := member.controller.profile)
    ]


async def node_metrics(context: FleetContext) -> Reply:
    tags = context.texts("tag")
    single = context.node.select((), tags) if tags else []
    if len(single) > MAX_SINGLE:
        raise BadValue(
            f"{len(single)} controllers have the tag.",
            field="tag",
            allowed=f"a tag that at most {MAX_SINGLE} controllers have",
        )
    return Reply(200, METRICS, prometheus_text(await node_families(context.node, single)))


def owners(context: FleetContext) -> dict[str, str | None]:
    directory = context.node.door.directory
    if directory is None:
        raise Conflict("This node is the only one: it has all of its controllers.")
    return dict(directory.owners)
