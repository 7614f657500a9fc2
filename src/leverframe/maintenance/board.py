"""The work of `leverframe board check`: look at every wired device and say what was found.

The result is 0 if everything that is wired is there, 1 if something is missing.
"""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.hardware.findings import Finding, findings, port_findings
from leverframe.hardware.gpio import kernel_lines
from leverframe.hardware.i2c_bus import open_kernel_bus
from leverframe.wiring import Wiring


def check_board(wiring: Wiring, ports: Mapping[str, str], console: Console) -> int:
    """Print what is there and what is missing; returns the exit code."""
    found = list(port_findings(ports))
    if wiring.kind == "simulated":
        console.print(r'The board is simulated; \[board] kind = "linux" would use this machine.')
        return show(found, console) if found else 0
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
        return 1
    console.print(table)
    console.print(f"{missing} of {rows} are missing." if missing else f"All {rows} are there.")
    return 1 if missing else 0
