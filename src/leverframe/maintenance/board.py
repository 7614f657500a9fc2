"""`leverframe board check`: look at every wired device and say what was found."""

import os
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.config import Config
from leverframe.exit_codes import DONE, NO
from leverframe.hardware.findings import Finding, findings, port_findings
from leverframe.hardware.gpio import kernel_lines
from leverframe.hardware.i2c_bus import open_kernel_bus


def check_board(config: Config) -> int:
    """Print what is there and what is missing."""
    console, wiring = Console(), config.board
    named = {"serial_port": config.serial_port, "serial_modbus": config.serial_modbus}
    found = list(port_findings({name: path for name, path in named.items() if path is not None}))
    if wiring.kind == "simulated":
        console.print(r'The board is simulated; \[board] kind = "linux" would use this machine.')
        return show(found, console) if found else DONE
    if wiring.kind != "linux":
        console.print(f"The board {wiring.kind} comes from another package and is not looked at.")
        return show(found, console) if found else DONE
    return show([*findings(wiring, kernel_lines(), open_kernel_bus), *found], console)


def show(found: Iterable[Finding], console: Console) -> int:
    table = Table("label", "where", "", "found", box=None, pad_edge=False)
    missing = rows = 0
    for finding in found:
        rows += 1
        missing += not finding.is_good
        state = Text("ok", "green") if finding.is_good else Text("MISSING", "bold red")
        table.add_row(finding.label, finding.place, state, Text(finding.text))
    if rows == 0:
        console.print("Nothing is wired: the [board] table names no device.")
        return NO
    console.print(table)
    if os.geteuid() == 0:
        console.print("Tried as root, who may use everything; try it as the service will run, too.")
    console.print(f"{missing} of {rows} are missing." if missing else f"All {rows} are there.")
    return NO if missing else DONE
