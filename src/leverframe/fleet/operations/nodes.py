"""Operations on nodes: their state, their metrics, and their controllers."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from leverframe import __version__
from leverframe.core.profile import HARDWARE, newest_software
from leverframe.devices.wire.prometheus import prometheus_text
from leverframe.fleet.health_index import version_of
from leverframe.fleet.metrics import MAX_SINGLE, node_families
from leverframe.fleet.node import WITHOUT_PLACE
from leverframe.fleet.operation import operation
from leverframe.fleet.operations.context import NAMES, TAGS, FleetContext, Name
from leverframe.fleet.other_nodes import ClusterReport, OtherNodes
from leverframe.fleet.progress import PROGRESS, ProgressReport
from leverframe.fleet.records import MemberRecord, Role
from leverframe.fleet.scopes import at_every_node, others_of
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.refusals import BadValue, Conflict
from leverframe.interface.table.row import ADMIN, ANYONE, CONTROL
from leverframe.server.http.messages import NOT_KEPT, Reply
from leverframe.server.problems import RETRY_SOON
from leverframe.server.routes.metrics import METRICS
from leverframe.storage.backup import BackupFile

# Reports of a node: about itself, about its controllers, and sums over all.

_NEWEST = {hw: newest_software(hw) for hw in HARDWARE}


class MemberReport(Struct, frozen=True):
    """A controller in the list of a node."""

    name: str
    tags: tuple[str, ...]
    tenant: Annotated[
        str, Meta(description="The tenant of the controller; empty for the operator.")
    ]
    hw: str
    sw: str
    status: Annotated[
        Literal["ok", "degraded", "unknown"],
        Meta(description="`unknown` if the node of the controller does not answer."),
    ]
    troubles: list[str]
    time: Annotated[
        float | None,
        Meta(
            description="The time by the clock of the controller, in seconds since"
            " 1970; null if unknown."
        ),
    ]
    url: Annotated[str, Meta(description="The URL of the pages and commands of the controller.")]
    address: str | None
    port: int | None
    node: Annotated[
        str | None,
        Meta(description="The node that runs the controller, if several nodes share a database."),
    ] = None


class RenamedReport(MemberReport, frozen=True):
    is_made_anew: Annotated[
        bool,
        Meta(
            description="Whether the fleet file still has the old name: if so, the next start"
            " creates another controller of that name."
        ),
    ] = False


class MemberDetails(Struct, frozen=True):
    report: MemberReport
    mac: str
    board: str
    uptime: float
    settings: Annotated[
        dict[str, Any], Meta(description="Settings that differ from the factory settings, by path.")
    ]


class NodeReport(Struct, frozen=True):
    version: str
    controllers: int
    degraded: int
    tags: Annotated[dict[str, int], Meta(description="Number of controllers with each tag.")]
    virtual: bool
    time: float
    newest: Annotated[dict[str, str], Meta(description="The newest software by hardware version.")]
    rate: Annotated[
        float,
        Meta(description="Virtual seconds per second while time runs; 0 while it stands still."),
    ]
    snapshots: list[str]
    troubles: Annotated[list[str], Meta(description="Problems of the node itself, in sentences.")]
    account: Annotated[
        str, Meta(description=("The signed-in account; empty if no sign-in is required."))
    ]
    role: Role
    tenant: Annotated[
        str | None, Meta(description=("The tenant of the account; null for the operator."))
    ]
    # Nodes of older versions do not report these.
    versions: Annotated[
        dict[str, int],
        Meta(description=("Number of controllers by version, hardware/software such as 3.9/1.75.")),
    ] = {}
    tenants: Annotated[
        dict[str, int],
        Meta(description=("Number of controllers of each tenant; for the operator only.")),
    ] = {}
    timezone: Annotated[
        str, Meta(description=("Time zone of the node, such as `Europe/Warsaw`."))
    ] = ""
    not_started: Annotated[
        list[str],
        Meta(
            description=(
                "The reason for each controller that failed to start; for the operator only."
            )
        ),
    ] = []
    can_start: Annotated[
        list[str],
        Meta(
            description="Names of controllers that `/api/fleet/start` retries; for the operator"
            " only."
        ),
    ] = []
    starting: Annotated[
        ProgressReport | None,
        Meta(description="During startup, the number of running controllers; then null."),
    ] = None


class AdvanceReport(NodeReport, frozen=True):
    """The node after an advance, and the controllers that were advanced."""

    moved: Annotated[int, Meta(description="Number of controllers whose time was moved.")] = 0
    moved_s: Annotated[float, Meta(description="The longest move, in seconds.")] = 0.0
    earliest: Annotated[
        float | None, Meta(description="The earliest present time of these controllers.")
    ] = None
    latest: Annotated[
        float | None, Meta(description=("The latest present time of these controllers."))
    ] = None
    # Nodes of older versions do not report it.
    due: Annotated[
        int | None,
        Meta(
            description=(
                "Number of controllers with a due task; null unless time was moved by a step."
            )
        ),
    ] = None


class ExportedController(Struct, frozen=True):
    """A controller as described by a fleet file and a settings file, without secrets."""

    record: MemberRecord
    settings: BackupFile


class NodeHealth(Struct, frozen=True):
    status: Annotated[
        Literal["ok", "degraded", "starting", "stopping"],
        Meta(
            description="`starting` until all controllers are started, and `stopping` once the"
            " first is stopped, both with HTTP status 503."
        ),
    ]
    controllers: Annotated[
        int | None,
        Meta(
            description=(
                "Number of controllers; null if there are tenants, because this report"
                " needs no sign-in."
            )
        ),
    ]
    findings: Annotated[
        int | UnsetType, Meta(description="Number of findings about the node itself, if any.")
    ] = UNSET
    of: Annotated[
        int | None | UnsetType,
        Meta(
            description="Number of controllers expected at startup, or present before the stop;"
            " null if `controllers` is null because of tenants."
        ),
    ] = UNSET


class MadeReport(Struct, frozen=True):
    names: list[str]
    dry_run: bool
    password: Annotated[
        str | None,
        Meta(
            description=(
                "Password of the administrators of the new controllers, shown only once; null if"
                " no password is required."
            )
        ),
    ] = None


NODE = QueryParameter("node", Name, "The name of a node.")
#: Texts of findings about the node's certificate, by kind; controllers report their own
#: certificates.
OF_CERTIFICATE = {
    "certificate_ends": "The certificate of this node expires soon. Days left: {days}.",
    "certificate_ended": "The certificate of this node has expired: browsers reject it.",
}


# --- the node itself ------------------------------------------------------------------------------


@operation("/health", role=ANYONE, for_tenants=False, reply=NodeHealth, while_starting=True)
def show_health(context: FleetContext) -> NodeHealth | Reply:
    """Report to supervisors whether the node runs."""
    # If there are tenants, the numbers of controllers are hidden, because any client may read this.
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
    """Report the progress of a start or stop; the status marks the node as not ready."""
    count, of = (None, None) if is_hidden else (running.done, running.of)
    body = msgspec.json.encode(NodeHealth(status, count, of=of))
    return Reply(503, "application/json", body, (NOT_KEPT, *RETRY_SOON))


@operation("/metrics", TAGS, reply=str, content_type=METRICS)
async def show_metrics(context: FleetContext) -> Reply:
    """List sums over all controllers for Prometheus; with a tag also all metrics of the controllers
    that have it, with their names as the label `controller`."""
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


@operation(
    "progress",
    QueryParameter("id", Name, f"The value of the header `{PROGRESS}` of the request."),
    role=CONTROL,
    while_starting=True,
)
def show_progress(context: FleetContext) -> ProgressReport:
    """Show the progress of a running request, as a number of controllers; 404 for any other
    request."""
    return context.under_way.report(context.tenant, context.require("id", "the id of a request"))


# --- all nodes together ---------------------------------------------------------------------------


def _merge_overviews(context: FleetContext, reports: dict[str, NodeReport]) -> NodeReport:
    """Sum up the overviews of the nodes; prefix each problem with its node."""
    # This node always answers.
    own = reports[others_of(context).name]
    troubles = [f"{node}: {text}" for node, one in reports.items() for text in one.troubles]
    not_started = [f"{node}: {text}" for node, one in reports.items() for text in one.not_started]
    troubles += [f"{node}: The node does not answer." for node in sorted(context.silent)]
    return replace(
        own,
        controllers=sum(one.controllers for one in reports.values()),
        degraded=sum(one.degraded for one in reports.values()),
        tags=_add_counts(one.tags for one in reports.values()),
        versions=_add_counts(one.versions for one in reports.values()),
        tenants=_add_counts(one.tenants for one in reports.values()),
        snapshots=list(dict.fromkeys(label for one in reports.values() for label in one.snapshots)),
        troubles=troubles,
        not_started=not_started,
        can_start=list(dict.fromkeys(name for one in reports.values() for name in one.can_start)),
    )


def _add_counts(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    sums = Counter[str]()
    for one in counts:
        sums.update(one)
    return dict(sorted(sums.items()))


@operation("", role=CONTROL, while_starting=True, scope=at_every_node, merge=_merge_overviews)
def show_overview(context: FleetContext) -> NodeReport:
    """Show the number of controllers, their tags, the common time and the snapshots; added up if
    several nodes share a database."""
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
        [one.name for one in node.roster.list_failed()] if of_operator else [],
        node.roster.progress(context.tenant),
    )


def _common_time(context: FleetContext) -> float:
    """Return the common time; for a tenant, the time of its first controller.

    In virtual time, a tenant can advance its controllers independently of the others.
    """
    if context.tenant is not None and context.node.is_virtual:
        for member in context.members.values():
            return member.controller.clock.wall()
    return context.node.clock.wall()


def _troubles(context: FleetContext) -> list[str]:
    """Return the problems of the node, for the operator only, because they name controllers."""
    if context.tenant is not None:
        return []
    node = context.node
    of_node = (sentence for _, sentence in sorted(node.troubles.items()))
    found = (OF_CERTIFICATE[one.kind].format_map(one.figures) for one in node.findings())
    return [*of_node, *node.roster.problems(), *found]


# --- nodes that share a database ------------------------------------------------------------------


@operation("nodes", for_tenants=False)
def list_nodes(context: FleetContext) -> ClusterReport:
    """Show the nodes that share the database, and the state of this node in it."""
    return _others(context).report()


@operation(
    "drain",
    NODE,
    QueryParameter("undo", bool, "Let the node accept controllers again."),
    changes=True,
    for_tenants=False,
)
async def drain_node(context: FleetContext) -> ClusterReport:
    """Drain a node: the other nodes take over its controllers, one after the other. It stays empty,
    also across restarts, until this is undone."""
    others = _others(context)
    name = context.require("node", "the name of a node")
    await others.drain(name, undo=context.given.get("undo", False))
    return others.report()


@operation("forget", NODE, changes=True, for_tenants=False)
async def forget_node(context: FleetContext) -> ClusterReport:
    """Remove a stopped node from the list. If it starts again, it is listed as new."""
    others = _others(context)
    await others.forget(context.require("node", "the name of a node"))
    return others.report()


@operation(
    "move",
    NAMES,
    QueryParameter("node", Name, "The node to pin the controllers to; default: any node."),
    changes=True,
    for_tenants=False,
)
async def move_controllers(context: FleetContext) -> ClusterReport:
    """Pin controllers to a node while that node is alive."""
    others = _others(context)
    context.require("name", "the name of a controller")
    await others.move(context.texts("name"), context.given.get("node"))
    return others.report()


def _others(context: FleetContext) -> OtherNodes:
    if context.node.cluster is None:
        raise Conflict("This node does not share a database. Start it with --database.")
    return context.node.cluster
