"""Controllers of a node made, removed, renamed, tagged and copied."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.refusals import BadValue, Conflict, Malformed, NotAllowed
from leverframe.config.fields import MAX_PORT
from leverframe.fleet.api.context import CHOSEN, FleetContext
from leverframe.fleet.api.parameters import ShortText, Tags
from leverframe.fleet.api.reading import (
    MemberReport,
    RenamedReport,
    changed_settings_of,
    report_of_member,
)
from leverframe.fleet.bulk import DONE, BulkReport, MemberResult, report_of
from leverframe.fleet.first_passwords import ShowPassword
from leverframe.fleet.live import fork
from leverframe.fleet.members import Member, NewController, no_such_name
from leverframe.fleet.node import FleetNode
from leverframe.fleet.progress import expect
from leverframe.fleet.records import (
    MemberRecord,
    Moved,
    NotRunning,
    checked_address,
    checked_tags,
    names_from,
    numbered,
)
from leverframe.fleet.start_again import make_new, place_and_start, start_noted
from leverframe.fleet.tenants import OPERATOR
from leverframe.maintenance.given_settings import template_leaves, version_for
from leverframe.profile import UnknownProfile
from leverframe.storage.backup import BackupFile, BackupRefused

MAX_AT_ONCE = 10_000
#: The greatest number that a name begins with.
MAX_FIRST = 10**9

_Count = Annotated[int, Meta(ge=1, le=MAX_AT_ONCE)]
_Port = Annotated[int, Meta(ge=1, le=MAX_PORT)]
PLACES = (
    QueryParameter("count", _Count, "How many, 1 if not given."),
    QueryParameter(
        "first", Annotated[int, Meta(ge=0, le=MAX_FIRST)], "The number of the first, 1."
    ),
    QueryParameter("tags", Tags, "Their tags."),
    QueryParameter(
        "address", ShortText, "An address for the first; the others have the next ones."
    ),
    QueryParameter("port", _Port, "A port for the first; the others have the next ones."),
)
LEFT_OPEN = QueryParameter(
    "open",
    bool,
    "Leave controllers open to every user of the machine of the node, which must be on loopback.",
)


#: What an address is called that is none.
NONE = "none"
NEW_PLACE = (
    QueryParameter(
        "address", ShortText, f"Its new address; `{NONE}` takes the one away that it has."
    ),
    QueryParameter(
        "port",
        Annotated[int, Meta(ge=0, le=MAX_PORT)],
        "Its new port; 0 takes the one away that it has.",
    ),
)


class MadeReport(Struct, frozen=True):
    names: list[str]
    dry_run: bool
    password: Annotated[
        str | None,
        Meta(description="Of their administrators, shown this once; null where none is asked for."),
    ] = None


async def added(context: FleetContext) -> MadeReport:
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
    """Return whether controllers shall not require sign-in; refuse it where strangers come."""
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
        raise NotAllowed("Addresses and ports of the machine are given by the operator alone.")
    tags = checked_tags(context.texts("tags"))
    address = checked_address(given.get("address"))
    field = "name" if "to" not in given else "to"
    pattern = context.needed(field, "a name, such as gh-{n}")
    names = names_from(pattern, given.get("first", 1), given.get("count", 1), field)
    return numbered(
        [
            MemberRecord(name, tags, hw, sw, address, given.get("port"), _tenant(context))
            for name in names
        ]
    )


def _tenant(context: FleetContext) -> str:
    """Return whose new controllers are: those that a tenant makes are its own."""
    said: str = context.given.get("tenant", context.tenant or OPERATOR)
    if context.tenant not in (None, said):
        raise NotAllowed("Only the operator of the fleet may say whose controllers are.")
    return said


async def _template(context: FleetContext) -> BackupFile | None:
    """Return the settings to begin with: those of a body, or of another controller."""
    body, like = context.request.body, context.given.get("like")
    if like is None:
        return await context.templates.read(body) if body else None
    if body:
        raise BadValue("There is a template in the body already.", field="like")
    (member,) = context.select([like])
    profile = member.controller.profile
    return BackupFile.written_now(profile, changed_settings_of(member))


async def removed(context: FleetContext) -> BulkReport:
    if not any(context.given.get(one.name) for one in CHOSEN):
        raise Malformed("Nothing is chosen.", allowed="name=NAME, tag=TAG, search or health")
    not_running = context.not_running_of_names()
    running = [name for name in context.texts("name") if name not in not_running]
    members: list[Member] = []
    if running or not not_running:
        given = {**context.given, "name": ",".join(running)}
        members = await msgspec.structs.replace(context, given=given).chosen()
    await context.node.remove(members, list(not_running.values()))
    return _all_done([*(member.name for member in members), *not_running])


async def started(context: FleetContext) -> BulkReport:
    """Try again to start controllers that did not start, all of them where none is named."""
    node, not_started = context.node, context.node.not_started
    stored, new = not_started.stored(), not_started.never_made()
    names = list(dict.fromkeys(context.texts("name"))) or [*stored, *new]
    for name in names:
        if name not in stored and name not in new and name not in node.members:
            raise not_started.refusal_of(name, context.tenant)
    expect(len(names))
    with _first_passwords(node) as first:
        numbers = [stored[one] for one in names if one in stored]
        if node.cluster is None:
            by_number = await start_noted(node, numbers, first.note)
        else:
            by_number = await node.cluster.start_now(numbers)
        why = {name: by_number[number] for name, number in stored.items() if number in by_number}
        why |= await _made_anew(context, [one for one in names if one in new], first.note)
    results = []
    for name in names:
        if name not in stored and name not in new:
            status, detail = DONE, f"{name} runs already."
        elif name in node.members:
            status, detail = DONE, f"{name} runs now."
        else:
            # Without a reason it was removed meanwhile, or another node has it by now.
            gone = no_such_name(name) if node.cluster is None else Moved(name)
            status, detail = NotRunning.status, why.get(name) or gone.detail
        results.append(MemberResult(name, status, detail, password=first.by_name.get(name)))
    return report_of(results)


class _AnsweredPasswords:
    """First passwords that an answer tells."""

    def __init__(self) -> None:
        self.by_name: dict[str, str] = {}

    def note(self, names: Sequence[str], password: str) -> None:
        self.by_name |= dict.fromkeys(names, password)


@contextmanager
def _first_passwords(node: FleetNode) -> Iterator[_AnsweredPasswords]:
    """Collect first passwords for an answer; the node tells them where there will be none."""
    first = _AnsweredPasswords()
    try:
        yield first
    except BaseException:
        for name, password in first.by_name.items():
            node.options.show_password([name], password)
        raise


async def _made_anew(
    context: FleetContext, names: Sequence[str], show_password: ShowPassword
) -> dict[str, str]:
    """Try again to make controllers that the fleet file names; return why one cannot be."""
    if not names:
        return {}
    node = context.node
    password, administrator = await context.new_administrator()
    why = await make_new(node, [node.in_file[name] for name in names], administrator)
    if password is not None:
        show_password([name for name in names if name not in why], password)
    return why


async def renamed(context: FleetContext) -> RenamedReport:
    member = context.one()
    is_made_anew = member.name in context.node.in_file
    await context.node.rename(member, context.needed("to", "the new name"))
    report = report_of_member(context.node, member)
    return RenamedReport(**msgspec.structs.asdict(report), is_made_anew=is_made_anew)


async def placed(context: FleetContext) -> MemberReport:
    given = context.given
    if not given.keys() & {one.name for one in NEW_PLACE}:
        raise Malformed("No place is named.", allowed="an address, a port, or both")
    node = context.node
    number = node.not_started.can_be_mended(context.tenant).get(given.get("name", ""))
    if number is None:
        member = context.one()
        await node.place(member, *_new_place(given, member.record))
    else:
        place = _new_place(given, node.registry.records[number])
        member = await place_and_start(node, number, *place)
    return report_of_member(node, member)


def _new_place(given: dict[str, Any], before: MemberRecord) -> tuple[str | None, int | None]:
    """Return the address and the port that are asked for; what is not named stays."""
    address, port = given.get("address", before.address), before.port
    if "port" in given:
        port = given["port"] or None
    return None if address == NONE else checked_address(address), port


async def tagged(context: FleetContext) -> BulkReport:
    add, remove = checked_tags(context.texts("add")), checked_tags(context.texts("remove"))
    if not (add or remove):
        raise Malformed("No tag is named.", allowed="add=TAG, remove=TAG")
    members = await context.chosen()
    await context.node.tag(members, add, remove)
    return _all_done([member.name for member in members])


def _all_done(names: Sequence[str]) -> BulkReport:
    return report_of([MemberResult(name, DONE) for name in names])


async def forked(context: FleetContext) -> MadeReport:
    member = context.one()
    context.needed("to", "a name, such as copy-{n}")
    made = await fork(context.node, member, _new_records(context), context.own_record)
    return MadeReport([one.name for one in made], dry_run=False)
