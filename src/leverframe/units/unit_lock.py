"""The lock for changing a unit: one process of this machine holds it at a time.

It is an exclusive lock on a file that is named by the MAC address of the unit, or by its address if
it shows no MAC address. All users of the machine share the folder of these files, which does not
depend on the location of the journals. The kernel releases a lock when its process ends in any
way, so a killed process blocks no other. The file contains the holder for error messages; the
holder removes the file before it releases the lock.
"""

import fcntl
import getpass
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from leverframe.core.errors import ErrorForPeople, printable
from leverframe.units.unit_plan import UnitPlan

#: Folders in which all users of a machine may write, but only the owner of a file may remove it.
_SHARED = (Path("/run/lock"), Path("/tmp"))  # noqa: S108
_NAME = "leverframe-units"
_MODE_FOR_ALL = 0o1777
_SAFE = "abcdefghijklmnopqrstuvwxyz0123456789."
_MAX_HOLDER_BYTES = 400


class UnitHeld(ErrorForPeople):
    """Another process is changing the unit; the message names that process in one sentence."""


class CannotLock(ErrorForPeople):
    """No folder for the locks can be used; the message is one sentence."""


class _Holder(Struct, frozen=True):
    user: str
    process: int
    since: str

    def __str__(self) -> str:
        return f"{printable(self.user)} (process {self.process}, since {printable(self.since)})"


def find_shared_folder() -> Path:
    """Return the folder of the locks, which all users of the machine share; create it."""
    # The last folder is for machines that have neither of the first two.
    for place in (*filter(_is_for_all, _SHARED), Path(tempfile.gettempdir())):
        folder = place / _NAME
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            found = folder.lstat()
            if found.st_uid == os.geteuid():
                # The umask has removed permissions.
                folder.chmod(_MODE_FOR_ALL)
            if stat.S_ISDIR(found.st_mode) and os.access(folder, os.W_OK):
                return folder
    raise CannotLock(
        "The unit cannot be locked. Write access is required to one of these folders:"
        f" {', '.join(str(place / _NAME) for place in _SHARED)}."
    )


def _is_for_all(place: Path) -> bool:
    """Return whether all users may write to a folder; they must all use the same folder."""
    try:
        return stat.S_IMODE(place.stat().st_mode) & _MODE_FOR_ALL == _MODE_FOR_ALL
    except OSError:
        return False


@contextmanager
def unit_held(plan: UnitPlan, folder: Path | None = None) -> Iterator[None]:
    """Hold the lock of the unit of a plan; raise `UnitHeld` if another process has it."""
    path = (folder or find_shared_folder()) / _file_name(plan)
    descriptor = _lock(path, plan.unit)
    try:
        holder = _Holder(_user(), os.getpid(), f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder), 0)
        yield
    finally:
        # The file may belong to another user; then it stays and can be locked again.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def refuse_held(plan: UnitPlan, folder: Path | None = None) -> None:
    """Raise `UnitHeld` if another process is changing the unit of a plan."""
    with unit_held(plan, folder):
        pass


def _file_name(plan: UnitPlan) -> str:
    text = (plan.mac or plan.address).lower()
    return "".join(letter if letter in _SAFE else "-" for letter in text)


def _lock(path: Path, unit: str) -> int:
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            refusal = UnitHeld(
                f"{unit} is being changed by {_holder(descriptor)}; wait until it is done, or"
                " stop it."
            )
            os.close(descriptor)
            raise refusal from None
        if _is_still_at(path, descriptor):
            return descriptor
        # The last holder has just removed the file; a lock on it excludes no one.
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open a lock file that all users may open; reject a link of another user."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor
    except FileExistsError:
        pass
    try:
        # Without O_CREAT, which Linux denies for files of other users in a shared folder.
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return _open(path)
    except OSError as error:
        raise CannotLock(f"The lock {path} cannot be opened: {error.strerror}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CannotLock(f"The lock {path} is not a plain file; remove it.")
    return descriptor


def _is_still_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    try:
        return str(msgspec.json.decode(os.pread(descriptor, _MAX_HOLDER_BYTES, 0), type=_Holder))
    except (msgspec.MsgspecError, OSError):
        return "another process"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"user {os.geteuid()}"
