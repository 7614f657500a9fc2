"""Controllers that did not start with their node, mended while the others run."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from leverframe.commands.table.refusals import Conflict, Refusal
from leverframe.fleet.first_passwords import ShowPassword
from leverframe.fleet.members import Member, NewController, no_such_name
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import NotRunning


async def start_noted(
    node: FleetNode, numbers: Sequence[int], show_password: ShowPassword | None = None
) -> dict[int, str]:
    """Start controllers that are stored, as the file says; note, and return, why one cannot be.

    Whose start has failed before is no longer told of where it runs now.
    """
    troubles = await node.start_some(numbers, show_password=show_password)
    refusals: dict[int, str] = {}
    # Somebody else may have started, or removed, one that has failed here.
    running = {member.number for member in node.members.values()}
    for number in numbers:
        trouble, record = troubles.get(number), node.registry.records.get(number)
        if trouble is None or record is None or number in running:
            node.not_started.forget_stored(number)
            continue
        said = node.in_file.get(record.name)
        refusals[number] = (
            trouble.sentence if said is None else said.at_its_line(trouble.sentence, trouble.key)
        )
        node.not_started.note_stored(number, refusals[number], record.name, record.address)
    node.notify_watchers()
    return refusals


async def start_stored(node: FleetNode) -> dict[int, str]:
    """Start all that the store knows; note, and return, why one cannot be."""
    return await start_noted(node, sorted(node.registry.records))


async def make_new(
    node: FleetNode, new: Sequence[NewController], administrator: dict[str, Any]
) -> dict[str, str]:
    """Make controllers that a file names; note, and return by name, why one cannot be."""
    refusals = await node.refusals_of(new)
    made = [
        replace(one, leaves={**one.leaves, **administrator})
        for one in new
        if one.record.name not in refusals
    ]
    try:
        await node.add(made)
    except Refusal:
        # One of them cannot be; the others are made without it.
        for one in made:
            try:
                await node.add([one])
            except Refusal as refusal:
                refusals[one.record.name] = refusal
    by_name = {one.record.name: one for one in new}
    told = {name: by_name[name].why_not(why) for name, why in refusals.items()}
    for name, sentence in told.items():
        node.not_started.note_never_made(name, sentence, by_name[name].record.address)
    return told


async def place_and_start(
    node: FleetNode, number: int, address: str | None, port: int | None
) -> Member:
    """Move a controller that did not start to an address and a port, and start it.

    Where it cannot be reached at these, they stay as they are.
    """
    async with node.changing:
        before = node.registry.records.get(number)
        if before is None or node.by_number([number]):
            raise Conflict("It was started or removed meanwhile. Nothing was done: ask again.")
        record = node.with_place(before, address, port)
        await node.door.check_place(record.name, address, port)
        await node.registry.put({number: record})
        node.not_started.leave(before.address)
    why = await start_noted(node, [number])
    if why:
        raise NotRunning(f"Its place is set. {why[number]}")
    if record.name not in node.members:
        # It was removed meanwhile.
        raise no_such_name(record.name)
    return node.members[record.name]
