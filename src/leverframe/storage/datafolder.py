"""The data folder of one running controller: the lock on it, and the paths in it.

A process may use the folder while it holds an exclusive lock on the file `lock`. If the file
exists, it can be locked even on a read-only disk. The kernel releases the lock when the process
ends in any way, so a lock is never stale. The file contains the process ID for error messages. If
the ID is still there at the next start, its process was not shut down properly. The file is never
removed, because a process that has already opened a removed file would lock a file that no other
process can find.

A new folder is accessible only to its owner (0700). An existing folder keeps its mode, because it
may be used for other purposes; files written into it are accessible only to the owner anyway. But a
folder is rejected if every user could put a store with another administrator into it.
"""

import errno
import logging
import os
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from leverframe.core.errors import ErrorForPeople
from leverframe.storage.page_sums import discard_sums
from leverframe.storage.private_files import open_private

log = logging.getLogger(__name__)

STORE_NAME = "store.db"
KEY_NAME = "secrets.key"
#: The files in the folder of a node; if the node uses a shared database, only the key exists.
NODE_STORE_NAME = "fleet.db"
NODE_KEY_NAME = "fleet.key"
#: Follows the process ID in the lock file, or replaces it. Programs older than the checksums
#: (`page_sums.py`) ignore it and do not write it, so a store that they have used is not compared
#: with outdated sums.
_SUMS_MARK = b"\n"
#: The position of the machine's boot ID, which earlier programs do not read.
_BOOT_AT = 32
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class FolderInUse(ErrorForPeople):
    """Another process uses this folder."""


class FolderUnusable(ErrorForPeople):
    """The folder cannot be created or written."""


class FolderOpenToOthers(ErrorForPeople):
    """Other users can write files that a controller trusts; the message is one sentence."""


class NoFolder(ErrorForPeople):
    """The folder does not exist; the message is one sentence."""


class NoStore(ErrorForPeople):
    """The folder contains no store; the message is one sentence."""


class FolderOfNode(ErrorForPeople):
    """A node's folder cannot be used for a single controller; the message is two sentences."""


class FolderOfController(ErrorForPeople):
    """A single controller's folder cannot be used for a node; the message is two sentences."""


class FolderSpace(NamedTuple):
    """The space that a folder takes and has, in bytes."""

    used: int
    free: int


def measure_space(folder: Path) -> FolderSpace:
    """Measure a data folder; raise OSError if that is not possible."""
    used = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return FolderSpace(used, shutil.disk_usage(folder).free)


class DataFolder:
    """A data folder, locked from construction to `close`.

    If the caller only reads, a store must already exist.
    """

    def __init__(self, path: Path, *, reading_will_do: bool = False) -> None:
        self.path = path
        self.refuse_what_is_of_others()
        if sys.platform == "win32":
            raise FolderUnusable(
                f"The data folder {path} cannot be used: Windows lacks the locks and permissions "
                "that it needs. Use Linux or macOS; a twin in a test needs no folder."
            )
        try:
            _create(path)
            _check_others(path)
            self._lock_fd = _open_lock(path, reading_will_do and self.store_path.exists())
            #: Whether the previous process released the folder.
            self.was_given_back = self._lock_fd < 0 or not _number(self._lock_fd)
            self._has_same_boot = self._lock_fd >= 0 and _is_of_this_boot(self._lock_fd)
            if self._lock_fd >= 0 and not _keeps_sums(self._lock_fd):
                discard_sums(self.store_path)
            _write_number(self._lock_fd)
        except OSError as error:
            raise FolderUnusable(
                f"The data folder {path} cannot be used: {error.strerror}. "
                f"Make it writable or choose another folder with --data."
            ) from error

    def refuse_what_is_of_others(self) -> None:
        """Raise FolderOfNode if the folder belongs to a node."""
        _refuse_node(self.path)

    @property
    def store_path(self) -> Path:
        return self.path / STORE_NAME

    @property
    def key_path(self) -> Path:
        """Return the path of the key that encrypts the secrets in the store."""
        return self.path / KEY_NAME

    @property
    def history_path(self) -> Path:
        return self.path / "history.db"

    @property
    def killed_history(self) -> Path | None:
        """Return the history if its writer was killed but the machine kept running.

        The history is written without waiting for the disk, so after a power failure any part may
        be missing.
        """
        is_killed = not self.was_given_back and self._has_same_boot
        return self.history_path if is_killed else None

    def close(self) -> None:
        """Release the folder; further calls do nothing."""
        if self._lock_fd >= 0:
            # The process ID is only informative; it stays on a disk that has become read-only.
            with suppress(OSError):
                os.ftruncate(self._lock_fd, 0)
                os.pwrite(self._lock_fd, _SUMS_MARK, 0)
            os.close(self._lock_fd)
            self._lock_fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def existing_folder(path: Path) -> DataFolder:
    """Return an existing folder, which may be empty; a mistyped path must not create a folder."""
    refuse_missing(path)
    return DataFolder(path)


def refuse_missing(path: Path) -> None:
    """Raise NoFolder if the folder does not exist."""
    if not path.is_dir():
        raise NoFolder(
            f"The folder {path} does not exist. Create it, or name another folder with --data."
        )


def is_of_node(path: Path) -> bool:
    return any((path / name).exists() for name in (NODE_STORE_NAME, NODE_KEY_NAME))


def _refuse_node(path: Path) -> None:
    # A folder in which a controller has also run is accepted.
    if is_of_node(path) and not (path / STORE_NAME).exists():
        raise FolderOfNode(
            f"{path} is the folder of a node, not of a single controller; `leverframe fleet run"
            f" --data {path}` runs it. `leverframe fleet release NAME --to FOLDER --data {path}`"
            " moves one of its controllers to a folder of its own."
        )


def refuse_controller(path: Path) -> None:
    """Raise FolderOfController if the folder belongs to a single controller."""
    # A folder in which a node has also run is accepted.
    if (path / STORE_NAME).exists() and not is_of_node(path):
        raise FolderOfController(
            f"{path} is the folder of a single controller, not of a node; `leverframe run --data"
            f" {path}` runs it. Choose another folder for the node with --data FOLDER;"
            f" `leverframe fleet adopt {path} --data FOLDER` adds this controller to it."
        )


def folder_with_store(path: Path) -> DataFolder:
    """Return the folder of a controller that has already run there."""
    _refuse_node(path)
    if not path.exists():
        raise NoStore(f"The folder {path} does not exist. Specify the data folder of a controller.")
    if not (path / STORE_NAME).exists():
        raise NoStore(f"{path} contains no store; specify the data folder of a controller.")
    return DataFolder(path)


def _create(path: Path) -> None:
    if path.is_dir():
        return
    # Checked with lstat, which also finds broken and circular links.
    if os.path.lexists(path):
        path.stat()
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700)
    # Otherwise a power failure could remove the new folder with all acknowledged changes in it.
    parent_fd = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(parent_fd)
    finally:
        os.close(parent_fd)


def _check_others(path: Path) -> None:
    """Reject a folder in which other users can replace the store; warn if all may add files."""
    folder = path.stat()
    for_all_users = folder.st_mode & stat.S_IWOTH
    # In a sticky folder such as /tmp, only a file's owner can remove it.
    if for_all_users and not folder.st_mode & stat.S_ISVTX:
        raise FolderOpenToOthers(
            f"All users of this machine can replace files in the data folder {path}. Remove that "
            f"permission with `chmod o-w {path}`, or choose another folder with --data."
        )
    trusted = {os.geteuid(), folder.st_uid, 0}
    for name in (STORE_NAME, KEY_NAME):
        with suppress(FileNotFoundError):
            file = (path / name).stat()
            within_reach = file.st_mode & stat.S_IWOTH and folder.st_mode & stat.S_IXOTH
            if within_reach or (for_all_users and file.st_uid not in trusted):
                raise FolderOpenToOthers(
                    f"Other users can write {path / name}, or another user created this file."
                    f" Check the file before you trust it, take ownership with `chown` and `chmod"
                    f" 600`, or "
                    "choose another folder with --data."
                )
    if for_all_users:
        log.warning(
            "All users of this machine can write to the data folder %s; remove that permission "
            "with `chmod o-w %s`.",
            path,
            path,
        )


def _open_lock(path: Path, reading_will_do: bool) -> int:
    """Open and lock the lock file; return -1 if it cannot be created and only reading is needed."""
    import fcntl

    try:
        lock_fd = open_private(path / "lock")
    except OSError:
        if not reading_will_do:
            raise
        if not (path / "lock").exists():
            return -1
        lock_fd = os.open(path / "lock", os.O_RDONLY)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        refusal = FolderInUse(
            f"The data folder {path} is in use by {_holder(lock_fd)}; "
            f"stop it or choose another folder with --data."
        )
        os.close(lock_fd)
        raise refusal from None
    except OSError:
        os.close(lock_fd)
        raise
    return lock_fd


def _write_number(lock_fd: int) -> None:
    # The process ID is only informative; it may be missing on a full or read-only disk.
    with suppress(OSError):
        os.ftruncate(lock_fd, 0)
        number = f"{os.getpid()}\n".encode() + _SUMS_MARK
        os.pwrite(lock_fd, number.ljust(_BOOT_AT, b"\n") + _read_boot(), 0)


def _holder(lock_fd: int) -> str:
    # The process ID is missing for a moment after the other process has acquired the lock.
    number = _number(lock_fd)
    return f"process {number}" if number else "another process"


def _number(lock_fd: int) -> str:
    return os.pread(lock_fd, 20, 0).decode(errors="replace").strip()


def _keeps_sums(lock_fd: int) -> bool:
    """Return whether the previous process kept the checksums of the store up to date."""
    content = os.pread(lock_fd, 20, 0)
    return content == _SUMS_MARK or content.endswith(b"\n" + _SUMS_MARK)


def _is_of_this_boot(lock_fd: int) -> bool:
    boot = _read_boot()
    return bool(boot) and os.pread(lock_fd, len(boot), _BOOT_AT) == boot


def _read_boot() -> bytes:
    """Return the boot ID of the machine, or nothing if the system has none."""
    try:
        return _BOOT_ID.read_bytes().strip()
    except OSError:
        return b""
