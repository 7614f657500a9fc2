"""The folder that belongs to one running controller: who may use it, and where things lie in it.

The right to use the folder is an exclusive lock on the file `lock`. On a disk that cannot be
written it is taken all the same, if the file is there. The kernel drops the lock when the process
ends, however it ends, so a lock is never stale. The file holds the process number, so that the
refusal can name it; a number that is still there shows that its process was not shut down properly.
The file is never removed: a process that waits for the name of a removed file would lock something
that no other process sees.

A new folder is for its owner alone (0700). A folder that was there before keeps its mode, since it
may be shared with something else; what is written into it is for the owner alone anyway. But where
all users could put a store of their own into it, with an administrator of their own, it is refused.
"""

import errno
import logging
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from leverframe.core.errors import ErrorForPeople
from leverframe.storage.page_sums import discard_sums
from leverframe.storage.private_files import open_private

log = logging.getLogger(__name__)

STORE_NAME = "store.db"
KEY_NAME = "secrets.key"
#: In the folder of a node; of one that shares a database the key alone.
NODE_STORE_NAME = "fleet.db"
NODE_KEY_NAME = "fleet.key"
#: Behind the number in the lock, or instead of it. Programs before the sums (`page_sums.py`) read
#: it as no number and do not write it: what they leave must not be compared with older sums.
_SUMS_MARK = b"\n"
#: Behind both, where programs before this one do not look: the start of the machine.
_BOOT_AT = 32
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class FolderInUse(ErrorForPeople):
    """Another process runs on this folder."""


class FolderUnusable(ErrorForPeople):
    """The folder cannot be made or written."""


class FolderOpenToOthers(ErrorForPeople):
    """Other users can write what a controller trusts: one sentence."""


class NoFolder(ErrorForPeople):
    """There is no such folder: one sentence."""


class NoStore(ErrorForPeople):
    """The folder contains no store: one sentence."""


class FolderOfNode(ErrorForPeople):
    """The folder of a node is not that of a single controller: two sentences."""


class FolderOfController(ErrorForPeople):
    """The folder of a single controller is not that of a node: two sentences."""


class DataFolder:
    """A data folder, held from construction to `close`.

    A caller that only reads says so; then there must be a store to read.
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
        """Raise FolderOfNode for a folder in which a controller would be a stranger."""
        _refuse_node(self.path)

    @property
    def store_path(self) -> Path:
        """Return the path of the controller's store."""
        return self.path / STORE_NAME

    @property
    def key_path(self) -> Path:
        """Return the path of the key that seals the secrets in the store."""
        return self.path / KEY_NAME

    @property
    def history_path(self) -> Path:
        """Return the path of the history."""
        return self.path / "history.db"

    @property
    def killed_history(self) -> Path | None:
        """Return the history if its writer was killed, but the machine was not.

        It is written without waiting for the disk: after a power cut anything may be missing.
        """
        is_killed = not self.was_given_back and self._has_same_boot
        return self.history_path if is_killed else None

    def close(self) -> None:
        """Release the folder; further calls do nothing."""
        if self._lock_fd >= 0:
            # The number in it is a courtesy; a disk that has become read-only keeps it.
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
    """Return an existing folder, perhaps an empty one; a mistyped name creates none."""
    refuse_missing(path)
    return DataFolder(path)


def refuse_missing(path: Path) -> None:
    """Raise NoFolder if there is no folder."""
    if not path.is_dir():
        raise NoFolder(
            f"The folder {path} does not exist. Create it, or name another folder with --data."
        )


def is_of_node(path: Path) -> bool:
    return any((path / name).exists() for name in (NODE_STORE_NAME, NODE_KEY_NAME))


def _refuse_node(path: Path) -> None:
    # A controller that has run there before is served as ever.
    if is_of_node(path) and not (path / STORE_NAME).exists():
        raise FolderOfNode(
            f"{path} is the folder of a node, not of a single controller; `leverframe fleet run"
            f" --data {path}` runs it. `leverframe fleet release NAME --to FOLDER --data {path}`"
            " moves one of its controllers to a folder of its own."
        )


def refuse_controller(path: Path) -> None:
    """Raise FolderOfController for a folder in which a node would be a stranger."""
    # A node that has run there before is served as ever.
    if (path / STORE_NAME).exists() and not is_of_node(path):
        raise FolderOfController(
            f"{path} is the folder of a single controller, not of a node; `leverframe run --data"
            f" {path}` runs it. Choose another folder for the node with --data FOLDER;"
            f" `leverframe fleet adopt {path} --data FOLDER` adds this controller to it."
        )


def folder_with_store(path: Path) -> DataFolder:
    """Return the folder of a controller that has run there."""
    _refuse_node(path)
    if not path.exists():
        raise NoStore(f"The folder {path} does not exist. Specify the data folder of a controller.")
    if not (path / STORE_NAME).exists():
        raise NoStore(f"{path} contains no store; specify the data folder of a controller.")
    return DataFolder(path)


def _create(path: Path) -> None:
    if path.is_dir():
        return
    # Asked for by lstat, which sees links that lead nowhere or in a circle.
    if os.path.lexists(path):
        path.stat()
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700)
    # Without this a power cut could take the new folder away with everything acknowledged in it.
    parent_fd = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(parent_fd)
    finally:
        os.close(parent_fd)


def _check_others(path: Path) -> None:
    """Refuse a folder in which other users can replace the store; warn if all may add files."""
    folder = path.stat()
    for_all_users = folder.st_mode & stat.S_IWOTH
    # In a sticky folder, as the one for temporary files is, only its owner removes a file.
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
                    f"Other users can write {path / name}, or one of them created it. Check it "
                    "before you trust it, take ownership with `chown` and `chmod 600`, or "
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
    """Open and lock the lock file; return -1 where it cannot be made and reading is enough."""
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
    # The number is a courtesy; a disk that is full or read-only does without.
    with suppress(OSError):
        os.ftruncate(lock_fd, 0)
        number = f"{os.getpid()}\n".encode() + _SUMS_MARK
        os.pwrite(lock_fd, number.ljust(_BOOT_AT, b"\n") + _read_boot(), 0)


def _holder(lock_fd: int) -> str:
    # The number is missing for a moment after the other process took the lock.
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
    """Return what names this start of the machine, nothing where the system does not say it."""
    try:
        return _BOOT_ID.read_bytes().strip()
    except OSError:
        return b""
