"""`leverframe board check`: check every wired device with the rights of the service."""

import codecs
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.config import Config
from leverframe.config.sources import Sources
from leverframe.exit_codes import DONE, NO
from leverframe.hardware.board_check import PartCheck, part_checks, port_checks
from leverframe.hardware.gpio import kernel_lines
from leverframe.hardware.i2c_bus import open_kernel_bus
from leverframe.maintenance.service_rights import drop_rights_to, like_the_unit, who


def check_board(config: Config, sources: Sources, account: str | None) -> int:
    """Print the available and missing devices, with the rights of the service account."""
    console, wiring = Console(), config.board
    named = {"serial_port": config.serial_port, "serial_modbus": config.serial_modbus}
    ports = {name: path for name, path in named.items() if path is not None}
    if wiring.kind != "linux":
        console.print(_other_board(wiring.kind))
        if not ports:
            return DONE
    lines = kernel_lines()
    if account is not None:
        _load_what_is_loaded_late()
        drop_rights_to(account)
    elif os.geteuid() == 0 and sources.file is not None:
        path = sources.file.absolute()
        command = like_the_unit(path, ["board", "check", "--config", str(path)], console.width)
        if command is not None:
            return subprocess.run(command, check=False).returncode
    found = part_checks(wiring, lines, open_kernel_bus) if wiring.kind == "linux" else ()
    return show([*found, *port_checks(ports)], console)


def _other_board(kind: str) -> str:
    if kind == "simulated":
        return r'The board is simulated; set \[board] kind = "linux" to use this machine.'
    return f"The board {kind} comes from another package and is not checked."


def _load_what_is_loaded_late() -> None:
    """Load modules before the change of account, which may not be allowed to read the program."""
    codecs.lookup("ascii")
    with suppress(ImportError):
        import_module("leverframe.hardware.smbus_bus")


def show(found: Iterable[PartCheck], console: Console) -> int:
    table = Table("label", "where", "", "found", box=None, pad_edge=False)
    failing = rows = 0
    for finding in found:
        rows += 1
        failing += not finding.is_good
        state = Text("ok", "green") if finding.is_good else Text("FAILS", "bold red")
        table.add_row(finding.label, finding.place, state, Text(finding.text))
    if rows == 0:
        console.print("No device is wired in the [board] table.")
        return NO
    console.print(table)
    console.print(f"Checked as {who()}.", highlight=False)
    if os.geteuid() == 0:
        console.print(
            "Root has access to everything; check the account of the service with --account."
        )
    works = f"{failing} of {rows} devices do not work." if failing else f"All {rows} devices work."
    console.print(works)
    return NO if failing else DONE
