"""`leverframe board check`: check every wired device with the rights of the service."""

import codecs
import grp
import os
import pwd
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.core.errors import DONE, NO, ErrorForPeople, print_json, print_lines, print_warnings
from leverframe.devices.linux.board_check import PartCheck, part_checks, port_checks
from leverframe.devices.linux.i2c_parts import open_kernel_bus
from leverframe.devices.linux.pins import kernel_lines
from leverframe.host.configuration import Config
from leverframe.host.configuration.reader import Sources

# The rights of the service: those of an account, or those of its systemd unit.
#
# Root may use every device, so a check by root says nothing about the service. The unit defines the
# service's account and what it sees of the machine. `systemd-run` with the same properties starts a
# process with the rights of the service, even if the account exists only while the service runs.

#: Properties of a unit that concern devices and files below /dev and /sys.
PROPERTIES = (
    "User",
    "Group",
    "DynamicUser",
    "SupplementaryGroups",
    "NoNewPrivileges",
    "CapabilityBoundingSet",
    "AmbientCapabilities",
    "PrivateDevices",
    "DevicePolicy",
    "DeviceAllow",
    "ProtectClock",
    "ProtectSystem",
    "ProtectHome",
    "ProtectKernelTunables",
    "ReadWritePaths",
    "ReadOnlyPaths",
    "InaccessiblePaths",
    "BindPaths",
    "BindReadOnlyPaths",
)
#: Properties that are passed on even if they are empty: an empty value means "none".
EMPTY_IS_NONE = ("CapabilityBoundingSet",)
SYSTEMCTL_S = 10.0


class NoSuchAccount(ErrorForPeople):
    """The account does not exist, or this process may not change to it."""


def drop_rights_to(name: str) -> None:
    """Drop all rights except those of an account, for the rest of the process."""
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise NoSuchAccount(
            f"Unknown account {name}; use the account of the service, or leave --account out."
        ) from None
    if account.pw_uid == os.geteuid():
        return
    try:
        os.initgroups(account.pw_name, account.pw_gid)
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    except PermissionError:
        raise NoSuchAccount(f"Only root can check as {name}; use sudo.") from None


def who() -> str:
    """Return the name of the account and its groups."""
    groups = [_name_group(gid) for gid in sorted({os.getegid(), *os.getgroups()})]
    try:
        account = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        account = f"number {os.geteuid()}"
    return f"{account} (groups: {', '.join(groups)})"


def like_the_unit(config: Path, task: Sequence[str], columns: int) -> list[str] | None:
    """Return the command that runs a task with the rights of the service for this configuration.

    Return None without systemd, without such a unit, or if systemd started this process.
    """
    if os.environ.get("SYSTEMD_EXEC_PID") == str(os.getpid()):
        return None
    unit = f"leverframe@{config.stem}.service"
    names = ",".join(("LoadState", "ExecStart", *PROPERTIES))
    try:
        shown = subprocess.run(
            ["systemctl", "show", unit, f"--property={names}"],
            capture_output=True,
            text=True,
            timeout=SYSTEMCTL_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    settings = [line.partition("=") for line in shown.splitlines()]
    if ("LoadState", "=", "loaded") not in settings:
        return None
    if not any(name == "ExecStart" and str(config) in value.split() for name, _, value in settings):
        return None
    properties = [
        f"--property={name}={value}"
        for name, _, value in settings
        if name in PROPERTIES and (value or name in EMPTY_IS_NONE)
    ]
    run = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", f"--setenv=COLUMNS={columns}"]
    return [*run, *properties, "--", sys.executable, "-m", "leverframe", *task]


def _name_group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def check_board(config: Config, sources: Sources, account: str | None, as_json: bool) -> int:
    """Print the available and missing devices, with the rights of the service account."""
    console, wiring = Console(), config.board
    named = {"serial_port": config.serial_port, "serial_modbus": config.serial_modbus}
    ports = {name: path for name, path in named.items() if path is not None}
    if wiring.kind != "linux":
        (print_warnings if as_json else print_lines)([_other_board(wiring.kind)])
        if not ports:
            return DONE
    lines = kernel_lines()
    if account is not None:
        _load_what_is_loaded_late()
        drop_rights_to(account)
    elif os.geteuid() == 0 and sources.file is not None:
        path = sources.file.absolute()
        task = ["board", "check", "--config", str(path), *(["--json"] if as_json else [])]
        command = like_the_unit(path, task, console.width)
        if command is not None:
            return subprocess.run(command, check=False).returncode
    found = part_checks(wiring, lines, open_kernel_bus) if wiring.kind == "linux" else ()
    checks = [*found, *port_checks(ports)]
    return print_as_json(checks) if as_json else show(checks, console)


def _other_board(kind: str) -> str:
    if kind == "simulated":
        return 'The board is simulated; set [board] kind = "linux" to use this machine.'
    return f"The board {kind} comes from another package and is not checked."


def _load_what_is_loaded_late() -> None:
    """Load modules before the change of account, which may not be allowed to read the program."""
    codecs.lookup("ascii")
    with suppress(ImportError):
        import_module("leverframe.devices.linux.kernel_drivers")


def print_as_json(checks: Sequence[PartCheck]) -> int:
    """Print one object per device; return the exit status."""
    for check in checks:
        state = "ok" if check.is_good else "fails"
        about = {"label": check.label, "place": check.place, "state": state, "found": check.text}
        print_json(about)
    return DONE if checks and all(check.is_good for check in checks) else NO


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
