"""`leverframe fleet adopt|release`: move controllers into a stopped node, and out again."""

from pathlib import Path

from leverframe.commands.table.refusals import Refusal
from leverframe.config.sources import Sources
from leverframe.fleet.commands import name_warning
from leverframe.fleet.fleet_file import read_fleet
from leverframe.fleet.records import MemberRecord, TakenPlaces, check_name, check_tags
from leverframe.fleet.stopped_node import StoppedNode, open_stopped_node
from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.fleet.moving import (
    CannotMove,
    FolderContent,
    empty_folder,
    move_in,
    move_out,
)
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared_chunks import SharedChunks


async def adopt(sources: Sources, folder: Path, name: str | None, tags: list[str]) -> None:
    await adopt_folder(Path(read_fleet(sources).config.data), folder, name, tags)


async def release(sources: Sources, name: str, to: Path) -> None:
    fleet = read_fleet(sources)
    await release_controller(Path(fleet.config.data), name, to)
    if any(one.record.name == name for one in fleet.controllers):
        print(name_warning(str(sources.file), name))
    elif sources.file is None:
        print(name_warning("any fleet file", name))


async def adopt_folder(data_folder: Path, folder: Path, name: str | None, tag: list[str]) -> None:
    """Copy the controller of a data folder into a node; the folder stays as it is."""
    with folder_with_store(folder) as source:
        content = FolderContent(source)
        kept = content.kept
        async with open_stopped_node(data_folder) as node:
            try:
                record = MemberRecord(
                    check_name(name or kept.get("identity.name") or source.path.name),
                    check_tags(tag),
                    kept.get("profile.hw"),
                    kept.get("profile.configured_sw"),
                )
                TakenPlaces(node.registry.records.values()).add(record)
            except Refusal as refusal:
                raise CannotMove(f"{refusal.detail} Choose another name with --name.") from None
            if same := await _same_unit(node, kept.get("identity.mac")):
                raise CannotMove(f"The controller in {folder} is already in the node, as {same}.")
            (number,) = await node.registry.reserve(1)
            # A node that was killed may have left something under this number.
            await node.lane.forget([number])
            trouble = await move_in(content, node.lane, node.folder, number)
            # The last step: until then the node does not know of it.
            await node.registry.put({number: record})
    print(f"{record.name} is now in the node of {data_folder}, with all data of {folder}.")
    if trouble:
        print(trouble)
    print(
        f"Remove {folder}, or keep it as a backup. Do not run it: the same unit would exist twice."
    )


async def _same_unit(node: StoppedNode, mac: str | None) -> str | None:
    """Find the controller that has a MAC address already."""
    for number, record in node.registry.records.items():
        stored = (await node.lane.fetch([number]))[number]
        if mac is not None and stored.kept.get("identity.mac") == mac:
            return record.name
    return None


async def release_controller(data_folder: Path, name: str, to: Path) -> None:
    """Move a controller of a node to a data folder of its own, for `leverframe run`."""
    async with open_stopped_node(data_folder) as node:
        number, _ = node.controller(name)
        with empty_folder(to) as folder:
            trouble = await move_out(node.lane, node.folder, number, name, folder)
        # When everything is in its new place: whatever happens now, nothing is lost.
        parts = await node.registry.remove([number])
        await node.lane.forget([number, *parts])
        if node.folder.history_path.exists() and not trouble:
            shared = SharedChunks(node.folder.history_path, Bounds().max_bytes)
            try:
                shared.forget([number])
            finally:
                shared.close()
    print(f"{name} is now in {to}. Start it with `leverframe run --data {to}`.")
    if trouble:
        print(trouble)
