"""The rights of the service: an account to become, or the systemd unit to try something like.

Root may use everything, so what root finds says nothing about the service. Its unit says as whom it
runs and what of the machine it sees; the same properties, given to `systemd-run`, make a process
that has the rights of the service, also where the account only exists while the service runs.
"""

import grp
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from leverframe.errors import ErrorForPeople

#: Properties of a unit about devices and about files below /dev and /sys.
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
#: Properties for which an empty value differs from none and can be passed on.
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
