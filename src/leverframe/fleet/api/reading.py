"""What a node tells: of itself, of its controllers, and figures of all."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from leverframe import __version__
from leverframe.commands.table.refusals import BadValue, Conflict
from leverframe.commands.table.row import ADMIN
from leverframe.controller.findings import trouble_sentences
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import MISSING, difference, is_confidential
from leverframe.fleet.api.context import FleetContext
from leverframe.fleet.fleet_metrics import MAX_SINGLE, node_families
from leverframe.fleet.health_index import version_of
from leverframe.fleet.member import Member
from leverframe.fleet.node import WITHOUT_PLACE, FleetNode
from leverframe.fleet.progress import ProgressReport, count_done
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.tenants import Role
from leverframe.loop_shares import in_turns
from leverframe.profile import HARDWARE, newest_software
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.problems import RETRY_SOON
from leverframe.servers.routes.bounded_requests import refusing_long_work
from leverframe.servers.routes.metrics import METRICS
from leverframe.storage.backup import BackupFile
from leverframe.wire.prometheus import prometheus_text

_NEWEST = {hw: newest_software(hw) for hw in HARDWARE}
#: Findings about the node itself, by kind; controllers say the same of theirs.
OF_CERTIFICATE = {
    "certificate_ends": "The certificate of this node ends soon. Days left: {days}.",
    "certificate_ended": "The certificate of this node has ended: browsers refuse it.",
}


class MemberReport(Struct, frozen=True):
    """A controller in the list of a node."""

    name: str
    tags: tuple[str, ...]
    tenant: Annotated[str, Meta(description="Whose it is; empty for the operator alone.")]
    hw: str
    sw: str
    status: Annotated[
        Literal["ok", "degraded", "unknown"],
        Meta(description="`unknown` where its node does not answer."),
    ]
    troubles: list[str]
    time: Annotated[
        float | None, Meta(description="By its clock, in seconds since 1970; null if unknown.")
    ]
    url: Annotated[str, Meta(description="Where its pages and commands are.")]
    address: str | None
    port: int | None
    node: Annotated[
        str | None, Meta(description="The node that has it, where several share a database.")
    ] = None


class RenamedReport(MemberReport, frozen=True):
    is_made_anew: Annotated[
        bool,
        Meta(
            description="Whether the file of the node names the old one: as long as it does, each"
            " start makes another controller of that name where there is none."
        ),
    ] = False


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
    tags: Annotated[dict[str, int], Meta(description="How many controllers have each.")]
    virtual: bool
    time: float
    newest: Annotated[dict[str, str], Meta(description="The newest software by hardware version.")]
    rate: Annotated[float, Meta(description="Of virtual time that runs; 0 while it stands.")]
    snapshots: list[str]
    troubles: Annotated[
        list[str], Meta(description="What is wrong with the node itself, in sentences.")
    ]
    account: Annotated[str, Meta(description="Who asks; empty where nobody has to sign in.")]
    role: Role
    tenant: Annotated[str | None, Meta(description="Whose people ask; null for the operator.")]
    # A node of an older program does not tell these.
    versions: Annotated[
        dict[str, int], Meta(description="How many have hardware and software such as 3.9/1.75.")
    ] = {}
    tenants: Annotated[
        dict[str, int], Meta(description="How many each tenant has; told to the operator.")
    ] = {}
    timezone: Annotated[str, Meta(description="Of the node, such as `Europe/Warsaw`.")] = ""
    not_started: Annotated[
        list[str],
        Meta(description="Why, for each controller that did not start; told to the operator."),
    ] = []
    can_start: Annotated[
        list[str],
        Meta(
            description="The names of those that `/api/fleet/start` tries again; told to the"
            " operator."
        ),
    ] = []
    starting: Annotated[
        ProgressReport | None,
        Meta(description="How many controllers run, until all were started; null after that."),
    ] = None


class AdvanceReport(NodeReport, frozen=True):
    """The node after time was moved, and whom it was moved for."""

    moved: Annotated[int, Meta(description="How many controllers it was moved for.")] = 0
    moved_s: Annotated[float, Meta(description="By how much at most, in seconds.")] = 0.0
    earliest: Annotated[
        float | None, Meta(description="The earliest time that one of these has now.")
    ] = None
    latest: Annotated[float | None, Meta(description="The latest one, likewise.")] = None
    # A node of an older program does not tell it.
    due: Annotated[
        int | None,
        Meta(description="For how many something was due; null where time was moved by no step."),
    ] = None


class ExportedController(Struct, frozen=True):
    """A controller as a fleet file and a settings file describe it; without secrets."""

    record: MemberRecord
    settings: BackupFile


class NodeHealth(Struct, frozen=True):
    status: Annotated[
        Literal["ok", "degraded", "starting", "stopping"],
        Meta(
            description="`starting` until all controllers were started, and `stopping` from when"
            " the first is stopped, both with HTTP status 503."
        ),
    ]
    controllers: Annotated[
        int | None, Meta(description="How many; null where there are tenants, as for their health.")
    ]
    findings: Annotated[
        int | UnsetType, Meta(description="How many there are about the node itself, if any.")
    ] = UNSET
    of: Annotated[
        int | None | UnsetType,
        Meta(
            description="How many it is to have, while it starts, or had before its stop; null as"
            " the other number."
        ),
    ] = UNSET


def node_health(context: FleetContext) -> NodeHealth | Reply:
    """Return how the node is; with tenants nothing of controllers, since everybody may ask."""
    node = context.node
    is_hidden = bool(node.registry.tenants)
    if (stopping := node.roster.stop_progress()) is not None:
        left = ProgressReport(stopping.of - stopping.done, stopping.of)
        return _not_ready("stopping", left, is_hidden=is_hidden)
    if (starting := node.roster.progress()) is not None:
        return _not_ready("starting", starting, is_hidden=is_hidden)
    found = len(node.findings()) or UNSET
    if is_hidden:
        of_node = [part for part in node.troubles if not part.startswith(WITHOUT_PLACE)]
        return NodeHealth("degraded" if of_node else "ok", None, found)
    members = node.members.values()
    is_degraded = (
        node.troubles or node.roster.problems() or any(one.controller.troubles for one in members)
    )
    return NodeHealth("degraded" if is_degraded else "ok", len(members), found)


def _not_ready(
    status: Literal["starting", "stopping"], running: ProgressReport, *, is_hidden: bool
) -> Reply:
    """Report a start or stop with an HTTP status that marks the node as not ready."""
    count, of = (None, None) if is_hidden else (running.done, running.of)
    body = msgspec.json.encode(NodeHealth(status, count, of=of))
    return Reply(503, "application/json", body, (NOT_KEPT, *RETRY_SOON))


def node_report(context: FleetContext) -> NodeReport:
    node, members = context.node, context.members.values()
    tags = Counter(tag for one in members for tag in one.record.tags)
    profiles = (one.controller.profile for one in members)
    versions = Counter(version_of(one.hw, one.sw) for one in profiles)
    of_operator = context.tenant is None
    tenants = Counter(dict.fromkeys(node.registry.tenants, 0) if of_operator else ())
    if of_operator:
        tenants.update(one.record.tenant for one in members if one.record.tenant)
    return NodeReport(
        __version__,
        len(members),
        sum(bool(member.controller.troubles) for member in members),
        dict(sorted(tags.items())),
        node.is_virtual,
        _common_time(context),
        _NEWEST,
        context.time.rate,
        context.snapshots.labels(context.tenant),
        _troubles(context),
        context.account.name,
        "administrator" if context.account.role == ADMIN else "user",
        context.tenant,
        dict(sorted(versions.items())),
        dict(sorted(tenants.items())),
        str(node.options.timezone),
        node.roster.reasons() if of_operator else [],
        [one.name for one in node.roster.failed()] if of_operator else [],
        node.roster.progress(context.tenant),
    )


def _common_time(context: FleetContext) -> float:
    """Return the time of all; that of its first controller for a tenant, who may move it."""
    if context.tenant is not None and context.node.is_virtual:
        for member in context.members.values():
            return member.controller.clock.wall()
    return context.node.clock.wall()


def _troubles(context: FleetContext) -> list[str]:
    """Return what is wrong with the node, which names controllers, to the operator."""
    if context.tenant is not None:
        return []
    node = context.node
    of_node = (sentence for _, sentence in sorted(node.troubles.items()))
    found = (OF_CERTIFICATE[one.kind].format_map(one.figures) for one in node.findings())
    return [*of_node, *node.roster.problems(), *found]


def progress(context: FleetContext) -> ProgressReport:
    return context.under_way.report(context.tenant, context.needed("id", "the id of a request"))


async def listed(context: FleetContext) -> list[MemberReport]:
    return [
        report_of_member(context.node, member) async for member in counted(await context.chosen())
    ]


async def counted(members: list[Member]) -> AsyncIterator[Member]:
    """Give other requests their turn now and then, and tell how far this one is."""
    async for member in in_turns(members):
        yield member
        count_done()


def report_of_member(node: FleetNode, member: Member) -> MemberReport:
    controller, record = member.controller, member.record
    return MemberReport(
        record.name,
        record.tags,
        record.tenant,
        controller.profile.hw,
        controller.profile.sw,
        "degraded" if controller.troubles else "ok",
        trouble_sentences(controller.troubles, controller.engine.settings),
        controller.clock.wall(),
        node.door.url_of(record.name),
        record.address,
        record.port,
        None if node.cluster is None else node.cluster.name,
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
    """Export the settings of controllers; one export of a tenant is under way at a time."""
    members = await context.chosen()
    with refusing_long_work("fewer controllers, by `name` or `tag`"):
        async with context.node.services.streams.place(("export", context.tenant)):
            return [
                ExportedController(
                    msgspec.structs.replace(member.record, hw=profile.hw, sw=profile.sw),
                    BackupFile.written_now(profile, changed_settings_of(member)),
                )
                async for member in counted(members)
                if (profile := member.controller.profile)
            ]


async def node_metrics(context: FleetContext) -> Reply:
    tags = context.texts("tag")
    single = context.select((), tags) if tags else []
    if len(single) > MAX_SINGLE:
        raise BadValue(
            f"{len(single)} controllers have the tag.",
            field="tag",
            allowed=f"a tag that at most {MAX_SINGLE} controllers have",
        )
    jobs = context.jobs.all(context.tenant)
    families = await node_families(context.node, jobs, single, context.tenant)
    return Reply(200, METRICS, prometheus_text(families))


def owners(context: FleetContext) -> dict[str, str | None]:
    directory = context.node.door.directory
    if directory is None:
        raise Conflict("This node is the only one: it has all of its controllers.")
    return dict(directory.owners)
