"""Create controllers that a fleet file names, and start failed ones elsewhere."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from leverframe.commands.table.refusals import Conflict, Refusal
from leverframe.fleet.member import Member, NewController, no_such_name, why_not_started
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import NotRunning


async def make_new(
    node: FleetNode, new: Sequence[NewController], administrator: dict[str, Any]
) -> dict[str, str]:
    """Create controllers that a file names; record, and return by name, why any of them fails."""
    refusals = await node.refusals_of(new)
    made = [
        replace(one, leaves={**one.leaves, **administrator})
        for one in new
        if one.record.name not in refusals
    ]
    try:
        await node.add(made)
    except Refusal:
        # One of them fails; the others are created without it.
        for one in made:
            try:
                await node.add([one])
            except Refusal as refusal:
                refusals[one.record.name] = refusal
    by_name = {one.record.name: one for one in new}
    reasons = {name: why_not_started(name, why, by_name[name]) for name, why in refusals.items()}
    for name, reason in reasons.items():
        member = node.roster.expect(by_name[name].record)
        member.start()
        node.roster.note_failed(member, reason)
    return reasons


async def place_and_start(
    node: FleetNode, number: int, address: str | None, port: int | None
) -> Member:
    """Move a failed controller to an address and a port, and start it.

    If it cannot be reached there, its place stays as it is.
    """
    async with node.changing:
        before = node.registry.records.get(number)
        if before is None or node.by_number([number]):
            raise Conflict(
                "It was started or removed by another request. Nothing was done. Try again."
            )
        record = node.with_place(before, address, port)
        await node.door.check_place(record.name, address, port)
        await node.registry.put({number: record})
        node.roster.expect(record, number)
    why = await node.start_failed([number])
    if why:
        raise NotRunning(f"Its place is set. {why[number]}")
    if record.name not in node.members:
        # It was removed in the meantime.
        raise no_such_name(record.name)
    return node.members[record.name]
