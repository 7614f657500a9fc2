"""Operations on controllers: list, show, export, rename, place, tag and remove them."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from leverframe.core.runtime.event_loop import in_turns
from leverframe.core.tree import MISSING, defaults, difference, is_confidential
from leverframe.fleet.bulk import DONE, BulkReport, MemberResult, report_of
from leverframe.fleet.controller_actions import place_and_start
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.operation import operation
from leverframe.fleet.operations.context import CHOSEN, FleetContext, Name, ShortText, Tags
from leverframe.fleet.operations.nodes import (
    ExportedController,
    MemberDetails,
    MemberReport,
    RenamedReport,
)
from leverframe.fleet.other_nodes import LocatedController
from leverframe.fleet.progress import count_done
from leverframe.fleet.records import MemberRecord, check_address, check_tags
from leverframe.fleet.scopes import Parts, at_each, at_owner, in_order, rows_of, values_of
from leverframe.host.configuration.fields import MAX_PORT
from leverframe.host.controller.findings import trouble_sentences
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.refusals import Conflict, Malformed, Refusal
from leverframe.interface.table.row import CONTROL
from leverframe.server.routes.context import refusing_long_work
from leverframe.storage.backup import BackupFile

#: Clears the address.
NONE = "none"
NEW_PLACE = (
    QueryParameter("address", ShortText, f"The new address; `{NONE}` removes the present address."),
    QueryParameter(
        "port",
        Annotated[int, Meta(ge=0, le=MAX_PORT)],
        "The new port; 0 removes the present port.",
    ),
)
NAME = QueryParameter("name", Name, "The name of a controller.")


async def count_each(members: list[Member]) -> AsyncIterator[Member]:
    """Yield the controllers, and count the progress of the request.

    Other requests have their turn in between.
    """
    async for member in in_turns(members):
        yield member
        count_done()


# --- reading --------------------------------------------------------------------------------------


def _merge_lists(context: FleetContext, found: Parts) -> list[MemberReport]:
    """List the controllers of all nodes.

    The controllers of silent nodes are listed as unknown; a search omits them.
    """
    if context.is_looked_for:
        answered = [part for part in found.parts if part.refusal is None]
        found = msgspec.structs.replace(found, parts=answered)
    return rows_of(found, partial(_unknown, context))


@operation("list", *CHOSEN, role=CONTROL, scope=at_each, merge=_merge_lists)
async def list_controllers(context: FleetContext) -> list[MemberReport]:
    """List the chosen controllers with version, tags, health, time and URL."""
    return [
        report_of_member(context.node, member)
        async for member in count_each(await context.find_chosen())
    ]


def _unknown(context: FleetContext, target: LocatedController, why: Refusal) -> MemberReport:
    record = target.record
    return MemberReport(
        record.name,
        record.tags,
        record.tenant,
        record.hw or "",
        record.sw or "",
        "unknown",
        [why.detail],
        None,
        context.node.door.url_of(record.name),
        record.address,
        record.port,
        target.node,
    )


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


@operation("show", NAME, scope=at_owner)
def show_controller(context: FleetContext) -> MemberDetails:
    """Show one controller, with the settings that differ from the factory settings."""
    member = context.one()
    controller = member.controller
    return MemberDetails(
        report_of_member(context.node, member),
        member.built.mac,
        controller.board.kind,
        controller.engine.uptime(controller.clock.read()),
        own_settings_of(member),
    )


def own_settings_of(member: Member) -> dict[str, Any]:
    """Return settings that differ from the factory settings, without secrets."""
    controller = member.controller
    leaves = difference(defaults(controller.profile), controller.engine.settings)
    return {
        path: value
        for path, _, value in leaves
        if value is not MISSING and not (path.startswith("profile.") or is_confidential(path))
    }


def _merge_exports(_: FleetContext, found: Parts) -> list[ExportedController]:
    """Refuse the export if a node does not answer: no one would notice its missing controllers."""
    exported = [one for some in values_of(found.parts) for one in some]
    return in_order(exported, found.targets, lambda one: str(one.record.name))


@operation("export", *CHOSEN, scope=at_each, merge=_merge_exports)
async def export_controllers(context: FleetContext) -> list[ExportedController]:
    """Export the chosen controllers for a fleet file and settings files, without secrets."""
    members = await context.find_chosen()
    with refusing_long_work("fewer controllers, by `name` or `tag`"):
        # A tenant can run only one export at a time.
        async with context.node.services.streams.place(("export", context.tenant)):
            return [
                ExportedController(
                    msgspec.structs.replace(member.record, hw=profile.hw, sw=profile.sw),
                    BackupFile.create(profile, own_settings_of(member)),
                )
                async for member in count_each(members)
                if (profile := member.controller.profile)
            ]


@operation("owners", for_tenants=False)
def show_owners(context: FleetContext) -> dict[str, str | None]:
    """Show the node of each controller, or null if no node runs it; 409 if there is only one
    node."""
    directory = context.node.door.directory
    if directory is None:
        raise Conflict("This node shares no database with other nodes, so it has all controllers.")
    return dict(directory.owners)


# --- changing -------------------------------------------------------------------------------------


@operation("remove", *CHOSEN, changes=True, scope=at_each, with_failed=True)
async def remove_controllers(context: FleetContext) -> BulkReport:
    """Remove the chosen controllers with all their stored data. Failed controllers are removed only
    if they are named."""
    check_chosen(context)
    not_running = context.not_running_of_names()
    running = [name for name in context.texts("name") if name not in not_running]
    members: list[Member] = []
    if running or not not_running:
        given = {**context.given, "name": ",".join(running)}
        members = await msgspec.structs.replace(context, given=given).find_chosen()
    await context.node.remove(members, list(not_running.values()))
    return all_done([*(member.name for member in members), *not_running])


@operation(
    "rename", NAME, QueryParameter("to", Name, "The new name."), changes=True, scope=at_owner
)
async def rename_controller(context: FleetContext) -> RenamedReport:
    """Rename a controller. From then on it is available at the new name."""
    member = context.one()
    is_in_file = member.name in context.node.in_file
    await context.node.rename(member, context.require("to", "the new name"))
    report = report_of_member(context.node, member)
    return RenamedReport(**msgspec.structs.asdict(report), is_made_anew=is_in_file)


@operation(
    "place",
    NAME,
    *NEW_PLACE,
    changes=True,
    for_tenants=False,
    scope=at_owner,
    with_failed=True,
)
async def place_controller(context: FleetContext) -> MemberReport:
    """Set an address or port at which only this controller is available. The controller keeps
    running, but its connections end. A failed controller is started there."""
    given = context.given
    if not given.keys() & {one.name for one in NEW_PLACE}:
        raise Malformed("No address or port is set.", allowed="an address, a port, or both")
    node = context.node
    number = node.roster.numbers_of_failed(context.tenant).get(given.get("name", ""))
    if number is None:
        member = context.one()
        await node.place(member, *_new_place(given, member.record))
    else:
        place = _new_place(given, node.registry.records[number])
        member = await place_and_start(node, number, *place)
    return report_of_member(node, member)


def _new_place(parameters: dict[str, Any], before: MemberRecord) -> tuple[str | None, int | None]:
    """Return the requested address and port; an omitted parameter keeps the current value."""
    address, port = parameters.get("address", before.address), before.port
    if "port" in parameters:
        port = parameters["port"] or None
    return None if address == NONE else check_address(address), port


@operation(
    "tag",
    *CHOSEN,
    QueryParameter("add", Tags, "Tags to add."),
    QueryParameter("remove", Tags, "Tags to remove."),
    changes=True,
    scope=at_each,
)
async def tag_controllers(context: FleetContext) -> BulkReport:
    """Add tags to the chosen controllers, and remove tags from them."""
    add, remove = check_tags(context.texts("add")), check_tags(context.texts("remove"))
    if not (add or remove):
        raise Malformed("No tag is set.", allowed="add=TAG, remove=TAG")
    members = await context.find_chosen()
    await context.node.tag(members, add, remove)
    return all_done([member.name for member in members])


def all_done(names: Sequence[str]) -> BulkReport:
    return report_of([MemberResult(name, DONE) for name in names])


def check_chosen(context: FleetContext) -> None:
    """Refuse a request that chooses no controllers, because it would apply to all of them."""
    if not any(context.given.get(one.name) for one in CHOSEN):
        raise Malformed(
            "No controllers are chosen.", allowed="name=NAME, tag=TAG, search or health"
        )
