"""The API of a node: its endpoints, with what each takes and answers.

Parameters stand in the query, as everywhere in this program. `name` and `tag` choose controllers:
those of these names that have all of these tags, all of them where neither is given.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from leverframe import __version__
from leverframe.commands.describe.openapi import (
    EndpointDescription,
    QueryParameter,
    openapi_of_endpoints,
)
from leverframe.commands.table.refusals import BadValue, Malformed
from leverframe.commands.table.row import ADMIN, ANYBODY
from leverframe.durations import BadDuration, seconds_from_text
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import MISSING, difference, is_confidential
from leverframe.fleet.bulk import AT_A_TIME, DONE, BulkReport, MemberResult, report_of, send
from leverframe.fleet.fleet_metrics import MAX_SINGLE, node_families
from leverframe.fleet.given_settings import template_leaves, version_for
from leverframe.fleet.live import GroupSnapshots, GroupTime, fork, set_fault
from leverframe.fleet.node import FleetNode, Member, NewController
from leverframe.fleet.records import (
    MemberRecord,
    checked_address,
    checked_tags,
    names_from,
    numbered,
)
from leverframe.fleet.time_words import BadMoment, wall_of
from leverframe.profile import UnknownProfile
from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.routes.metrics import METRICS
from leverframe.storage.backup import BackupFile, BackupRefused
from leverframe.wire.prometheus import prometheus_text

MAX_AT_ONCE = 10_000
LABEL = r"[\w. -]{1,40}"

_Texts = Annotated[str, Meta(description="One, or several with commas.")]
_Count = Annotated[int, Meta(ge=1, le=MAX_AT_ONCE)]
_Port = Annotated[int, Meta(ge=1, le=65535)]
NAMES = QueryParameter("name", _Texts, "The names of controllers.")
TAGS = QueryParameter("tag", _Texts, "Tags that they have, all of them.")
CHOSEN = (NAMES, TAGS)
_LABEL = QueryParameter(
    "label", Annotated[str, Meta(pattern=f"^{LABEL}$")], "What the snapshot is called."
)
_PLACES = (
    QueryParameter("count", _Count, "How many, 1 if not given."),
    QueryParameter("first", Annotated[int, Meta(ge=0)], "The number of the first, 1."),
    QueryParameter("tags", _Texts, "Their tags."),
    QueryParameter("address", str, "An address for the first; the others have the next ones."),
    QueryParameter("port", _Port, "A port for the first; the others have the next ones."),
)


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


class MadeReport(Struct, frozen=True):
    names: list[str]
    dry_run: bool
    password: Annotated[
        str | None,
        Meta(description="Of their administrators, shown this once; null where none is asked for."),
    ] = None


class NodeReport(Struct, frozen=True):
    version: str
    controllers: int
    degraded: int
    tags: dict[str, int]
    virtual: bool
    time: float
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


class FleetContext(Struct, frozen=True):
    """A request to the API of a node, with its parameters by name."""

    request: Request
    given: dict[str, Any]
    node: FleetNode
    time: GroupTime
    snapshots: GroupSnapshots
    #: Makes a password for administrators, and the settings that take it.
    new_administrator: Callable[[], Coroutine[Any, Any, tuple[str | None, dict[str, Any]]]]

    def texts(self, name: str) -> list[str]:
        return [part for one in self.given.get(name, "").split(",") if (part := one.strip())]

    def chosen(self) -> list[Member]:
        return self.node.select(self.texts("name"), self.texts("tag"))

    def needed(self, name: str, allowed: str) -> str:
        text: str = self.given.get(name, "")
        if not text:
            raise Malformed(f"{name} is missing.", field=name, allowed=allowed)
        return text


class FleetEndpoint(EndpointDescription, frozen=True, kw_only=True):
    function: Callable[[FleetContext], Any]


# --- reading --------------------------------------------------------------------------------------


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
        context.time.rate,
        list(context.snapshots.labels),
        [f"{part}: {sentence}" for part, sentence in sorted(node.troubles.items())],
    )


async def listed(context: FleetContext) -> list[MemberReport]:
    return [_report(context.node, member) async for member in _in_turns(context.chosen())]


async def _in_turns(members: list[Member]) -> AsyncIterator[Member]:
    """Give other requests their turn now and then: there may be thousands."""
    for number, member in enumerate(members, start=1):
        yield member
        if number % AT_A_TIME == 0:
            await asyncio.sleep(0)


def _report(node: FleetNode, member: Member) -> MemberReport:
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
    member = _one(context)
    controller = member.controller
    return MemberDetails(
        _report(context.node, member),
        member.built.mac,
        controller.board.kind,
        controller.engine.uptime(controller.clock.read()),
        _changed_settings(member),
    )


def _one(context: FleetContext) -> Member:
    (member,) = context.node.select([context.needed("name", "the name of a controller")])
    return member


def _changed_settings(member: Member) -> dict[str, Any]:
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
            BackupFile(profile.hw, profile.sw, _changed_settings(member)),
        )
        async for member in _in_turns(context.chosen())
        if (profile := member.controller.profile)
    ]


# --- the fleet itself -----------------------------------------------------------------------------


async def added(context: FleetContext) -> MadeReport:
    given = context.given
    template = _template(context.request.body)
    records = _new_records(context, hw=given.get("hw"), sw=given.get("sw"))
    try:
        hw, sw = given.get("hw"), given.get("sw")
        if template is not None and hw is None and sw is None:
            hw, sw = template.hw, template.sw
        profile = version_for(hw, sw, None)
        start = {} if template is None else template_leaves(template, profile)
    except UnknownProfile as error:
        raise BadValue(str(error), field="sw" if "sw" in given else "hw") from None
    except BackupRefused as error:
        raise BadValue(str(error), field="template") from None
    context.node.check_new(records)
    names = [record.name for record in records]
    if given.get("dry_run"):
        return MadeReport(names, dry_run=True)
    password, administrator = await context.new_administrator()
    start = {**start, **administrator}
    await context.node.add([NewController(record, profile, start) for record in records])
    return MadeReport(names, dry_run=False, password=password)


def _new_records(
    context: FleetContext, *, hw: str | None = None, sw: str | None = None
) -> list[MemberRecord]:
    given = context.given
    tags = checked_tags(context.texts("tags"))
    address = checked_address(given.get("address"))
    pattern = context.needed("name" if "to" not in given else "to", "a name, such as gh-{n}")
    names = names_from(pattern, given.get("first", 1), given.get("count", 1))
    return numbered(
        [MemberRecord(name, tags, hw, sw, address, given.get("port")) for name in names]
    )


def _template(body: bytes) -> BackupFile | None:
    if not body:
        return None
    try:
        return msgspec.json.decode(body, type=BackupFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadValue(f"The template is no backup in JSON: {error}.", field="template") from None


async def removed(context: FleetContext) -> BulkReport:
    if not (context.texts("name") or context.texts("tag")):
        raise Malformed("Nothing is chosen.", allowed="name=NAME or tag=TAG")
    members = context.chosen()
    await context.node.remove(members)
    return _all_done(members)


async def renamed(context: FleetContext) -> MemberReport:
    member = _one(context)
    await context.node.rename(member, context.needed("to", "the new name"))
    return _report(context.node, member)


async def tagged(context: FleetContext) -> BulkReport:
    add, remove = checked_tags(context.texts("add")), checked_tags(context.texts("remove"))
    if not (add or remove):
        raise Malformed("No tag is named.", allowed="add=TAG, remove=TAG")
    members = context.chosen()
    await context.node.tag(members, add, remove)
    return _all_done(members)


def _all_done(members: list[Member]) -> BulkReport:
    results = [MemberResult(member.name, DONE) for member in members]
    return report_of(results)


# --- what they do ---------------------------------------------------------------------------------


async def sent(context: FleetContext) -> BulkReport:
    given = context.given
    command = context.needed("command", "a command such as outs.cgi?out0=1")
    if body := context.request.body:
        command = f"{command} {_body_of_command(body)}"
    return await send(
        context.chosen(),
        command,
        context.request.peer,
        dry_run=given.get("dry_run", False),
        all_or_none=given.get("all_or_none", False),
    )


def _body_of_command(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    if not text.isprintable():
        raise BadValue("The body of the command has several lines.", allowed="one line of text")
    return text


async def moved(context: FleetContext) -> NodeReport:
    given, members = context.given, context.chosen()
    asked = [name for name in ("for", "to", "step", "rate") if name in given]
    if len(asked) != 1:
        raise Malformed(
            "It is not clear how time is to move.", allowed="one of for, to, step and rate"
        )
    if "for" in given:
        try:
            seconds = seconds_from_text(given["for"])
        except BadDuration as error:
            raise BadValue(str(error), field="for") from None
        await context.time.advance(members, seconds)
    elif "to" in given:
        await context.time.advance_to(members, _moment(context))
    elif "step" in given:
        await context.time.step(members)
    else:
        await context.time.run_at(given["rate"])
    return node_report(context)


def _moment(context: FleetContext) -> float:
    try:
        return wall_of(context.given["to"], context.node.manner.timezone)
    except BadMoment as error:
        raise BadValue(str(error), field="to") from None


async def snapshot_taken(context: FleetContext) -> BulkReport:
    return await context.snapshots.take(context.chosen(), context.needed("label", "a name for it"))


async def restored(context: FleetContext) -> BulkReport:
    label = context.needed("label", "the name of a snapshot")
    return await context.snapshots.restore(context.chosen(), label)


async def forked(context: FleetContext) -> MadeReport:
    member = _one(context)
    context.needed("to", "a name, such as copy-{n}")
    made = await fork(context.node, member, _new_records(context))
    return MadeReport([one.name for one in made], dry_run=False)


async def fault_set(context: FleetContext) -> BulkReport:
    text = context.needed("fault", "a fault such as slow*delay:5s, or none")
    return await set_fault(context.chosen(), text, context.given.get("seed", 0))


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


def openapi_of_node(context: FleetContext) -> dict[str, Any]:
    info = {
        "title": "Leverframe fleet",
        "version": __version__,
        "description": "A node with many controllers. Each controller has an interface of its own"
        " at its own name, described there at `/api/openapi.json`.",
    }
    return openapi_of_endpoints(info, ENDPOINTS, {})


_POST = ("POST",)
_DRY_RUN = QueryParameter("dry_run", bool, "Change nothing; tell what would become of it.")

ENDPOINTS: tuple[FleetEndpoint, ...] = (
    FleetEndpoint(
        "/health",
        role=ANYBODY,
        reply=NodeHealth,
        function=node_health,
        doc="Tell supervisors whether the node runs.",
    ),
    FleetEndpoint(
        "/metrics",
        role=ADMIN,
        reply=str,
        content_type=METRICS,
        query=(TAGS,),
        function=node_metrics,
        doc="List sums over all controllers as Prometheus reads them; with a tag also all figures "
        "of the controllers that have it, with their names as the label `controller`.",
    ),
    FleetEndpoint(
        "/api/openapi.json",
        role=ADMIN,
        reply=dict[str, Any],
        function=openapi_of_node,
        doc="Describe this interface as OpenAPI.",
    ),
    FleetEndpoint(
        "/api/fleet",
        role=ADMIN,
        reply=NodeReport,
        function=node_report,
        doc="Show the node: how many controllers, their tags, the common time, the snapshots.",
    ),
    FleetEndpoint(
        "/api/fleet/list",
        role=ADMIN,
        reply=list[MemberReport],
        query=CHOSEN,
        function=listed,
        doc="List the chosen controllers: version, tags, health, time and where they answer.",
    ),
    FleetEndpoint(
        "/api/fleet/show",
        role=ADMIN,
        reply=MemberDetails,
        query=(QueryParameter("name", str, "The name of a controller."),),
        function=shown,
        doc="Show one controller, with the settings that differ from the factory settings.",
    ),
    FleetEndpoint(
        "/api/fleet/export",
        role=ADMIN,
        reply=list[ExportedController],
        query=CHOSEN,
        function=exported,
        doc="Give the chosen controllers as a fleet file and settings files describe them, without "
        "secrets.",
    ),
    FleetEndpoint(
        "/api/fleet/add",
        role=ADMIN,
        reply=MadeReport,
        methods=_POST,
        query=(
            QueryParameter("name", str, "Their name, with `{n}` for the number: `gh-{n}`."),
            QueryParameter("hw", str, "Their hardware version, that of the template or newest."),
            QueryParameter("sw", str, "Their software version, likewise."),
            *_PLACES,
            _DRY_RUN,
        ),
        body=Annotated[str, Meta(description="A template: a settings backup in JSON.")],
        body_is_optional=True,
        function=added,
        doc="Make controllers with simulated boards, all of them or none.",
    ),
    FleetEndpoint(
        "/api/fleet/remove",
        role=ADMIN,
        reply=BulkReport,
        methods=_POST,
        query=CHOSEN,
        function=removed,
        doc="Remove the chosen controllers with all that is stored of them.",
    ),
    FleetEndpoint(
        "/api/fleet/rename",
        role=ADMIN,
        reply=MemberReport,
        methods=_POST,
        query=(
            QueryParameter("name", str, "The name of a controller."),
            QueryParameter("to", str, "Its new name."),
        ),
        function=renamed,
        doc="Give a controller another name, by which it answers from then on.",
    ),
    FleetEndpoint(
        "/api/fleet/tag",
        role=ADMIN,
        reply=BulkReport,
        methods=_POST,
        query=(
            *CHOSEN,
            QueryParameter("add", _Texts, "Tags to give them."),
            QueryParameter("remove", _Texts, "Tags to take from them."),
        ),
        function=tagged,
        doc="Give tags to the chosen controllers, and take tags from them.",
    ),
    FleetEndpoint(
        "/api/fleet/send",
        role=ADMIN,
        reply=BulkReport,
        methods=_POST,
        query=(
            QueryParameter("command", str, "A command, such as `outs.cgi?out0=1`, encoded."),
            *CHOSEN,
            _DRY_RUN,
            QueryParameter("all_or_none", bool, "Change nothing if one of them refuses it."),
        ),
        body=Annotated[str, Meta(description="The body of the command, if it takes one.")],
        body_is_optional=True,
        function=sent,
        doc="Carry out a command on the chosen controllers, with a result for each; or try it.",
    ),
    FleetEndpoint(
        "/api/fleet/advance",
        role=ADMIN,
        reply=NodeReport,
        methods=_POST,
        query=(
            *CHOSEN,
            QueryParameter("for", str, "A duration such as `1h30m`."),
            QueryParameter("to", str, "A moment such as `2026-03-29T03:00`, by the time zone."),
            QueryParameter("step", bool, "To the next moment at which something is due."),
            QueryParameter("rate", float, "Let time run, seconds in a second; 0 freezes it."),
        ),
        function=moved,
        doc="Move virtual time of the chosen controllers together; what is due happens on the way.",
    ),
    FleetEndpoint(
        "/api/fleet/snapshot",
        role=ADMIN,
        reply=BulkReport,
        methods=_POST,
        query=(_LABEL, *CHOSEN),
        function=snapshot_taken,
        doc="Take a snapshot of the chosen controllers, on virtual time; up to 20 labels, which "
        "end with the process.",
    ),
    FleetEndpoint(
        "/api/fleet/restore",
        role=ADMIN,
        reply=BulkReport,
        methods=_POST,
        query=(_LABEL, *CHOSEN),
        function=restored,
        doc="Let the chosen controllers go on from a snapshot.",
    ),
    FleetEndpoint(
        "/api/fleet/fork",
        role=ADMIN,
        reply=MadeReport,
        methods=_POST,
        query=(
            QueryParameter("name", str, "The name of a controller."),
            QueryParameter("to", str, "The name of the copies, with `{n}` for the number."),
            *_PLACES,
        ),
        function=forked,
        doc="Make controllers that go on from where another one is; on real time they begin with "
        "its settings.",
    ),
    FleetEndpoint(
        "/api/fleet/fault",
        role=ADMIN,
        reply=BulkReport,
        methods=_POST,
        query=(
            QueryParameter("fault", str, "As `/sim.cgi` takes it; `none` ends all."),
            QueryParameter("seed", Annotated[int, Meta(ge=0)], "What chance is made from."),
            *CHOSEN,
        ),
        function=fault_set,
        doc="Set a fault on the chosen controllers, each with a seed of its own.",
    ),
)
