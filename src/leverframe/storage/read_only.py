"""A store on a disk that cannot be written when the controller starts.

What is stored is read once, the last changes in the log included, and then answered from memory.
Nothing can be saved until the next start, and every attempt is refused with the reason. SQLite
cannot use a log where it may not write, so what is read is a copy in a private folder that is gone
afterwards.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from leverframe.storage.page_sums import sums_path
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.soundness import check
from leverframe.storage.sqlite_file import StoreDamaged, open_file, reason, sentences
from leverframe.storage.sqlite_log import index_path, log_path
from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable
from leverframe.storage.unclean_stop import secure_copy


class ReadOnlyStore(MemoryStore):
    """The stored content; every write fails with the same sentence."""

    def __init__(self, rows: Rows, sentence: str) -> None:
        super().__init__()
        self._rows = rows
        self.sentence = sentence

    async def write(self, rows: Rows) -> None:
        raise StoreUnavailable(self.sentence)

    def settle(self) -> None:
        """Refuse: no snapshot can be made of this store."""
        raise StoreUnavailable(self.sentence)


def open_read_only(store_path: Path, refusal: StoreUnavailable) -> ReadOnlyStore:
    """Open the store for reading, or else its newest sound snapshot.

    Raises the refusal with which it could not be opened for writing if there is neither, and
    StoreTooNew as opening does.
    """
    snapshots = [path for _, path in Snapshots(store_path).all()]
    for path in [store_path, *snapshots]:
        damage: list[str] = []
        try:
            rows = rows_in(path, damage)
        except (StoreDamaged, StoreUnavailable, OSError):
            continue
        if rows is not None:
            used = None if path == store_path else path
            return ReadOnlyStore(rows, _sentence(refusal, used, damage))
    raise refusal


def _sentence(refusal: StoreUnavailable, snapshot: Path | None, damage: list[str]) -> str:
    used = f" The last good snapshot ({snapshot.name}) is in use." if snapshot else ""
    why = " ".join([*damage, str(refusal)])
    return f"{why}{used} Nothing can be saved until this is fixed and the controller is restarted."


def rows_in(path: Path, damage: list[str]) -> Rows | None:
    """Read everything in a file, None if it is empty; raise an error if it is not sound.

    The file is only read, in whatever format it is. What is lost, but leaves it sound, is added to
    `damage` as a sentence.
    """
    with _private_copy(path) as copy:
        lost = secure_copy(copy, path)
        if lost is not None:
            damage.append(lost)
        if not check(copy):
            return None
        # Opened as for writing, so that a store in an older format is brought to the present one.
        with sentences(copy), closing(open_file(copy)) as connection:
            settings, kept, messages = (
                dict(connection.execute(f"SELECT {key}, value FROM {table}"))  # noqa: S608
                for table, key in (("setting", "path"), ("kept", "name"), ("message", "number"))
            )
            blobs = dict(connection.execute("SELECT name, data FROM blob"))
    return Rows(
        settings=settings,
        kept=kept,
        blobs=blobs,
        messages={str(number): text for number, text in messages.items()},
    )


@contextmanager
def _private_copy(path: Path) -> Iterator[Path]:
    # Imported here: a store is hardly ever on a disk that cannot be written.
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="leverframe-") as folder:
        copy = Path(folder) / path.name
        try:
            shutil.copyfile(path, copy)
            for beside in (log_path(path), index_path(path), sums_path(path)):
                if beside.exists():
                    shutil.copyfile(beside, copy.with_name(beside.name))
        except OSError as error:
            raise StoreUnavailable(f"The store {path} cannot be read: {reason(error)}.") from error
        yield copy
