"""Operations that create controllers, or retry their start."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from leverframe.core.profile import UnknownProfile
from leverframe.fleet.bulk import DONE, BulkReport, MemberResult, report_of
from leverframe.fleet.controller_actions import fork, make_new
from leverframe.fleet.member import NewController, no_such_name
from leverframe.fleet.member_start import ShowPassword
from leverframe.fleet.node import FleetNode
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.context import (
    DRY_RUN,
    FleetContext,
    Name,
    Names,
    ShortText,
    Tags,
    Template,
)
from leverframe.fleet.operations.controllers import NAME, export_controllers, own_settings_of
from leverframe.fleet.operations.nodes import MadeReport, show_overview
from leverframe.fleet.other_nodes import SilentNode
from leverframe.fleet.owners import NoOwner
from leverframe.fleet.progress import expect
from leverframe.fleet.records import (
    OPERATOR,
    MemberRecord,
    Moved,
    NotRunning,
    check_address,
    check_tags,
    names_from,
    number_places,
)
from leverframe.fleet.scopes import ask_every_node, ask_node_for, at_owner, others_of
from leverframe.host.configuration.fields import MAX_PORT
from leverframe.host.maintenance.configuration import template_leaves, version_for
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.refusals import BadValue, Conflict, NotAllowed, Refusal
from leverframe.storage.backup import BackupFile, BackupRefused
from leverframe.storage.store import StoreUnavailable

MAX_NEW = 10_000
#: The largest number at which the numbering of names may begin.
MAX_FIRST = 10**9

_Count = Annotated[int, Meta(ge=1, le=MAX_NEW)]
_Port = Annotated[int, Meta(ge=1, le=MAX_PORT)]
PLACES = (
    QueryParameter("count", _Count, "Number of controllers; 1 by default."),
    QueryParameter(
        "first",
        Annotated[int, Meta(ge=0, le=MAX_FIRST)],
        "The number of the first controller; 1 by default.",
    ),
    QueryParameter("tags", Tags, "Their tags."),
    QueryParameter(
        "address",
        ShortText,
        "An address for the first controller; the others get the following addresses.",
    ),
    QueryParameter(
        "port", _Port, "A port for the first controller; the others get the following ports."
    ),
)
LEFT_OPEN = QueryParameter(
    "open",
    bool,
    "Let every user of the machine use the new controllers without sign-in; the node must listen"
    " on loopback.",
)


# --- creating -------------------------------------------------------------------------------------


async def _add_from_here(context: FleetContext, operation: Operation[MadeReport]) -> MadeReport:
    """Create controllers on this node; the other nodes then take their share of them."""
    like = context.given.get("like")
    if like is not None and like not in context.members and not context.request.body:
        (found,) = await export_controllers.run_everywhere(replace(context, given={"name": like}))
        given = {name: value for name, value in context.given.items() if name != "like"}
        request = replace(context.request, body=msgspec.json.encode(found.settings))
        context = replace(context, given=given, request=request)
    would: MadeReport = await operation.run(
        replace(context, given={**context.given, "dry_run": True})
    )
    known = {one.name for one in await others_of(context).locate()}
    for name in would.names:
        if name in known:
            raise Conflict(
                f"A controller named {name} exists already; choose another name.", field="name"
            )
    if context.given.get("dry_run"):
        return would
    made: MadeReport = await operation.run(context)
    return made


@operation(
    "add",
    QueryParameter(
        "name", Name, "The name of the controllers, with `{n}` for the number: `gh-{n}`."
    ),
    QueryParameter(
        "hw", ShortText, "The hardware version; default: that of the template, or the newest."
    ),
    QueryParameter(
        "sw", ShortText, "The software version; default: that of the template, or the newest."
    ),
    QueryParameter("like", Name, "The controller whose settings the new controllers start with."),
    *PLACES,
    QueryParameter("tenant", Name, "The tenant that owns the controllers; default: the operator."),
    LEFT_OPEN,
    DRY_RUN,
    changes=True,
    body=Template,
    body_is_optional=True,
    scope=_add_from_here,
)
async def add_controllers(context: FleetContext) -> MadeReport:
    """Create controllers with simulated boards, all of them or none."""
    given = context.given
    template = await _template(context)
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
    await context.node.check_room(len(records), context.own_record)
    names = [record.name for record in records]
    if given.get("dry_run"):
        for record in records:
            await context.node.door.check_place(record.name, record.address, record.port)
        return MadeReport(names, dry_run=True)
    password, administrator = None, dict[str, Any]()
    if not is_left_open(context):
        password, administrator = await context.new_administrator()
    start = {**start, **administrator}
    new = [NewController(record, profile, start) for record in records]
    await context.node.add(new, context.own_record)
    return MadeReport(names, dry_run=False, password=password)


def is_left_open(context: FleetContext) -> bool:
    """Return whether the request creates controllers without sign-in.

    Refuse such a request if other machines can reach this node.
    """
    if context.given.get("open") and context.node.options.must_sign_in:
        raise Conflict(
            "Other machines can reach this node, so its controllers always require sign-in.",
            field="open",
        )
    return bool(context.given.get("open"))


def _new_records(
    context: FleetContext, *, hw: str | None = None, sw: str | None = None
) -> list[MemberRecord]:
    given = context.given
    if context.tenant is not None and ("address" in given or "port" in given):
        raise NotAllowed("Only the operator assigns addresses and ports of the machine.")
    tags = check_tags(context.texts("tags"))
    address = check_address(given.get("address"))
    field = "name" if "to" not in given else "to"
    pattern = context.require(field, "a name, such as gh-{n}")
    names = names_from(pattern, given.get("first", 1), given.get("count", 1), field)
    return number_places(
        [
            MemberRecord(name, tags, hw, sw, address, given.get("port"), _tenant(context))
            for name in names
        ]
    )


def _tenant(context: FleetContext) -> str:
    """Return the tenant of new controllers; a tenant may create controllers only for itself."""
    said: str = context.given.get("tenant", context.tenant or OPERATOR)
    if context.tenant not in (None, said):
        raise NotAllowed("Only the operator of the fleet may assign controllers to tenants.")
    return said


async def _template(context: FleetContext) -> BackupFile | None:
    """Return the initial settings: the template in the body, or the settings of a controller."""
    body, like = context.request.body, context.given.get("like")
    if like is None:
        return await context.templates.read(body) if body else None
    if body:
        raise BadValue("Set either a template in the body or `like`, not both.", field="like")
    (member,) = context.select([like])
    profile = member.controller.profile
    return BackupFile.create(profile, own_settings_of(member))


@operation(
    "fork",
    NAME,
    QueryParameter("to", Name, "The name of the copies, with `{n}` for the number."),
    *PLACES,
    changes=True,
    scope=at_owner,
)
async def fork_controller(context: FleetContext) -> MadeReport:
    """Create copies of a controller. In virtual time they resume from its current state; in real
    time they start with its settings."""
    member = context.one()
    context.require("to", "a name, such as copy-{n}")
    made = await fork(context.node, member, _new_records(context), context.own_record)
    return MadeReport([one.name for one in made], dry_run=False)


# --- starting -------------------------------------------------------------------------------------


async def _start_everywhere(context: FleetContext, operation: Operation[BulkReport]) -> BulkReport:
    """Let every node retry its failed controllers: all of them, or the named ones."""
    reports = await ask_every_node(replace(context, given={}), show_overview)
    where: dict[str, str | None] = {
        name: node for node, one in reports.items() for name in one.can_start
    }
    names = list(dict.fromkeys(context.texts("name"))) or list(where)
    if not where.keys() >= set(names):
        where = {one.name: one.node for one in await others_of(context).locate()} | where
    for name in names:
        if name not in where:
            raise context.node.roster.refusal_of(name, context.tenant)
    by_node: dict[str | None, list[str]] = {}
    for name in names:
        by_node.setdefault(where[name], []).append(name)
    parts = await asyncio.gather(
        *(_start_at(context, operation, node, some) for node, some in by_node.items())
    )
    results = {one.name: one for part in parts for one in part}
    return report_of([results[name] for name in names])


async def _start_at(
    context: FleetContext, operation: Operation[BulkReport], node: str | None, names: Sequence[str]
) -> list[MemberResult]:
    part = replace(context, given={"name": ",".join(names)})
    try:
        if node is None:
            raise NoOwner
        report: BulkReport = (await ask_node_for(part, operation, node))[0]
        return report.results
    except StoreUnavailable as error:
        refusal = operation.refusal(error)
    except Refusal as error:
        refusal = error
        if isinstance(error, SilentNode) and node is not None:
            context.silent.add(node)
    return [MemberResult(name, refusal.status, refusal.detail) for name in names]


@operation(
    "start",
    QueryParameter("name", Names, "The names of controllers; by default all that failed to start."),
    changes=True,
    for_tenants=False,
    scope=_start_everywhere,
)
async def start_controllers(context: FleetContext) -> BulkReport:
    """Retry controllers that failed to start, for example because a port was in use; `detail` says
    of each whether it runs. Controllers that only the fleet file names are created; `password` is
    that of the new administrator. Nodes that share a database retry stored controllers
    automatically every few seconds; this makes them retry immediately."""
    node, roster = context.node, context.node.roster
    failed, stored = {one.name for one in roster.list_failed()}, roster.numbers_of_failed()
    names = list(dict.fromkeys(context.texts("name"))) or [one.name for one in roster.list_failed()]
    for name in names:
        if name not in failed and name not in node.members:
            raise roster.refusal_of(name, context.tenant)
    expect(len(names))
    with _first_passwords(node) as first:
        numbers = [stored[one] for one in names if one in stored]
        by_number = await node.start_failed(numbers, first.note)
        why = {name: by_number[number] for name, number in stored.items() if number in by_number}
        why |= await _make_again(
            context, [one for one in names if one in failed and one not in stored], first.note
        )
    results = []
    for name in names:
        if name not in failed:
            status, detail = DONE, f"{name} is already running."
        elif name in node.members:
            status, detail = DONE, f"{name} is running now."
        else:
            # If there is no reason, the controller was removed, or another node has it now.
            gone = no_such_name(name) if node.cluster is None else Moved(name)
            status, detail = NotRunning.status, why.get(name) or gone.detail
        results.append(MemberResult(name, status, detail, password=first.by_name.get(name)))
    return report_of(results)


class _AnsweredPasswords:
    """The first passwords that the response shows."""

    def __init__(self) -> None:
        self.by_name: dict[str, str] = {}

    def note(self, names: Sequence[str], password: str) -> None:
        self.by_name |= dict.fromkeys(names, password)


@contextmanager
def _first_passwords(node: FleetNode) -> Iterator[_AnsweredPasswords]:
    """Collect the first passwords for the response; if the request fails, the node prints them."""
    first = _AnsweredPasswords()
    try:
        yield first
    except BaseException:
        for name, password in first.by_name.items():
            node.options.show_password([name], password)
        raise


async def _make_again(
    context: FleetContext, names: Sequence[str], show_password: ShowPassword
) -> dict[str, str]:
    """Retry controllers of the fleet file; return the reason for each one that fails."""
    if not names:
        return {}
    node = context.node
    password, administrator = await context.new_administrator()
    why = await make_new(node, [node.in_file[name] for name in names], administrator)
    if password is not None:
        show_password([name for name in names if name not in why], password)
    return why
