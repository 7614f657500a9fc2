"""Exported controllers as files: a fleet file, and a settings file for each of them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from leverframe.fleet.operations.reports import ExportedController
from leverframe.maintenance.readable_backup import as_text

FLEET_FILE = "fleet.toml"


def write_export(
    folder: Path,
    found: Sequence[ExportedController],
    wrote: Callable[[int], None] = lambda _: None,
) -> dict[str, Path]:
    """Write controllers into a new folder; return the settings file of each by its name.

    `wrote` is called with the number of controllers written since its last call.
    """
    folder.mkdir(parents=True)
    tenants = sorted({one.record.tenant for one in found if one.record.tenant})
    lines = [f"tenants = {msgspec.json.encode(tenants).decode()}", ""] if tenants else []
    files: dict[str, Path] = {}
    for one in found:
        record = msgspec.to_builtins(one.record)
        file = folder / f"{one.record.name}.toml"
        file.write_text(as_text(one.settings, ".toml"), encoding="utf-8")
        files[one.record.name] = file
        lines += ["[[controllers]]"]
        for key, value in {**record, "settings": file.name}.items():
            lines.append(f"{key} = {msgspec.json.encode(value).decode()}")
        lines.append("")
        wrote(1)
    (folder / FLEET_FILE).write_text("\n".join(lines), encoding="utf-8")
    return files
