"""Check before SQLite opens a store's files whether they contain all acknowledged changes.

SQLite recovers the valid part of a log and silently drops the rest. Therefore the log is first
compared with its index, and the pages with their sums. Damage is reported, and the damaged files
are copied to a folder `damaged-N` with the report. The report is shown under `/health` until that
folder is removed, so that a restart does not hide it. Then the files are repaired so that the next
check finds nothing.

An unclean stop without damage, such as `kill -9` or a power failure, is not reported.
"""

import os
from pathlib import Path

from msgspec import Struct

from leverframe.storage.page_sums import (
    PAGE_BYTES,
    UNKNOWN,
    PageSums,
    read_sums,
    sum_of,
    sums_path,
    write_sums,
)
from leverframe.storage.private_files import keep_copies, report_damage
from leverframe.storage.sqlite_log import (
    HEADER_BYTES,
    LogIndex,
    SqliteLog,
    index_path,
    is_later_log,
    log_path,
    read_committed_pages,
    read_index,
    read_log,
)

#: Pages of the main file that are read together.
_PAGES_AT_A_TIME = 256


#: The byte of the index that every program locks while it uses the store.
_LOCK_OF_USERS = 128


class LogVerdict(Struct, frozen=True):
    #: Whether acknowledged changes are or may be missing.
    is_damaged: bool = False
    #: Whether SQLite may recover the valid part of the log.
    is_used: bool = True


class StoreState(Struct, frozen=True):
    """The state of a store's files."""

    log: SqliteLog | None
    verdict: LogVerdict
    #: Checksums of the current pages, including those that SQLite may recover.
    sums: PageSums
    #: The number of pages whose content differs from what was written.
    wrong_pages: int

    @property
    def is_damaged(self) -> bool:
        return self.verdict.is_damaged or self.wrong_pages > 0


def secure(store_path: Path) -> str | None:
    """Check the files of a store that is not in use; return a sentence about any loss.

    Raises OSError if they cannot be read.
    """
    state = _look_at(store_path)
    if state is None:
        return None
    report = None
    if state.is_damaged:
        aside = keep_copies(store_path.parent, _list_damaged_files(store_path, state))
        report = report_damage(_describe(store_path, state), aside)
    _leave_sound(store_path, state)
    return report


def secure_history(history_path: Path) -> str | None:
    """Check the log of a history whose writer was killed; return a sentence about any loss.

    The pages of a history have no sums, because a wrong value does little harm there, and a history
    can be large.
    """
    if not history_path.exists() or _is_in_use(history_path):
        return None
    log_file, found = log_path(history_path), read_log(history_path)
    is_gone = found is None and log_file.exists() and log_file.stat().st_size > HEADER_BYTES
    index = read_index(index_path(history_path))
    verdict = judge_log(found, index, None, is_gone=is_gone)
    report = None
    if verdict.is_damaged:
        aside = keep_copies(history_path.parent, [log_file, index_path(history_path)])
        report = report_damage(
            f"The program was not shut down properly, and the history log {log_file} is damaged "
            "or missing. The latest values and journal entries are lost; the settings are not "
            "affected.",
            aside,
        )
    _leave_sound_log(history_path, found, verdict)
    return report


def secure_copy(copy: Path, store_path: Path) -> str | None:
    """Check the copy of a store's files; return a sentence about any loss from the store."""
    state = _look_at(copy)
    if state is None:
        return None
    _leave_sound(copy, state)
    return _describe(store_path, state) if state.is_damaged else None


def _look_at(store_path: Path) -> StoreState | None:
    """Compare the files with each other; return None if there are none to compare."""
    if not store_path.exists() or not store_path.stat().st_size or _is_in_use(store_path):
        return None
    index, log_file = read_index(index_path(store_path)), log_path(store_path)
    found, known = read_log(store_path), read_sums(store_path)
    if log_file.exists():
        is_gone = found is None and log_file.stat().st_size > HEADER_BYTES
    else:
        # A store in use always has a log, which may be empty.
        is_gone = known is not None and known.salts is not None
    verdict = judge_log(found, index, known, is_gone=is_gone)
    if known is not None and _is_of_another_time(known, found, index):
        known = None
    sums, wrong = _compare_pages(store_path, found if verdict.is_used else None, known)
    return StoreState(found, verdict, sums, wrong)


def judge_log(
    found: SqliteLog | None,
    index: LogIndex | None,
    sums: PageSums | None,
    *,
    is_gone: bool,
) -> LogVerdict:
    """Determine from the index and the sums whether a log is complete, and whether to use it.

    `is_gone` means that no log was found although there must have been one.
    """
    if index is not None and (found is None or _is_at_least(index.salts, found.salts)):
        return _judge_by_index(found, index, sums)
    if found is None:
        return LogVerdict(is_damaged=is_gone, is_used=False)
    if sums is not None and sums.salts is not None:
        if not _is_at_least(found.salts, sums.salts):
            # If neither the index nor the sums refer to the log, it is from another time or store.
            return LogVerdict(is_damaged=True, is_used=False)
        if sums.salts == found.salts and found.frames < sums.frames:
            return LogVerdict(is_damaged=True, is_used=False)
    return LogVerdict(is_damaged=found.has_lost_commit)


def _judge_by_index(found: SqliteLog | None, index: LogIndex, sums: PageSums | None) -> LogVerdict:
    """Judge a log by an index that is not older than the log."""
    if found is not None and found.salts == index.salts and found.frames >= index.frames:
        return LogVerdict()
    is_in_main_file = index.is_all_in_main_file or _is_in_sums(index, sums)
    if is_in_main_file or found is None or found.salts != index.salts:
        # The frames that SQLite would recover are older than the main file.
        return LogVerdict(is_damaged=not is_in_main_file, is_used=False)
    return LogVerdict(is_damaged=True, is_used=index.folded <= found.frames)


def _is_in_sums(index: LogIndex, sums: PageSums | None) -> bool:
    """Return whether an index predates a power failure, and all of its log is in the main file."""
    if sums is None or sums.salts is None:
        return False
    return sums.covers(index.salts, index.frames) or is_later_log(sums.salts, index.salts)


def _is_at_least(salts: bytes, earlier: bytes) -> bool:
    return salts == earlier or is_later_log(salts, earlier)


def _is_of_another_time(sums: PageSums, found: SqliteLog | None, index: LogIndex | None) -> bool:
    """Return whether log and index agree with each other but not with the sums."""
    if sums.salts is None or found is None or index is None:
        return False
    return found.salts == index.salts and not _is_at_least(found.salts, sums.salts)


def _compare_pages(
    store_path: Path, used: SqliteLog | None, known: PageSums | None
) -> tuple[PageSums, int]:
    """Return the sums of the pages, and the number of pages that differ from what was written."""
    page_size = used.page_size if used else known.page_size if known else PAGE_BYTES
    in_log = used.frame_of_page if used else {}
    actual, wrong = PageSums(page_size), 0
    with store_path.open("rb") as file:
        page = 0
        while block := file.read(page_size * _PAGES_AT_A_TIME):
            for place in range(0, len(block), page_size):
                page += 1
                content = block[place : place + page_size]
                actual.set(page, content)
                expected = known.of(page) if known else UNKNOWN
                if page not in in_log and expected not in (UNKNOWN, sum_of(page, content)):
                    wrong += 1
    if known is not None:
        count = used.page_count if used and used.frames else len(known.sums)
        cut_off = range(page + 1, count + 1)
        wrong += sum(known.of(number) != UNKNOWN and number not in in_log for number in cut_off)
    if used is not None and used.frames:
        actual.add_pages(read_committed_pages(log_path(store_path), used.frames))
    return actual, wrong


def _list_damaged_files(store_path: Path, state: StoreState) -> list[Path]:
    files = [store_path, sums_path(store_path)] if state.wrong_pages else []
    if state.verdict.is_damaged:
        files += [log_path(store_path), index_path(store_path)]
    return files


def _describe(store_path: Path, state: StoreState) -> str:
    """Describe the loss, and what to do."""
    parts = []
    if state.verdict.is_damaged:
        parts.append(
            f"The program was not shut down properly, and the log {log_path(store_path)} is "
            "damaged or missing. The latest changes are lost."
        )
    if state.wrong_pages:
        parts.append(
            f"The store {store_path} is damaged: {state.wrong_pages} of its pages have changed "
            "since they were written. It is readable and in use, but settings may be wrong or "
            "missing."
        )
    return f"{' '.join(parts)} Check the settings, or restore a backup."


def _leave_sound(store_path: Path, state: StoreState) -> None:
    """Repair the files, so that the next check finds no problem."""
    _leave_sound_log(store_path, state.log, state.verdict)
    known = read_sums(store_path)
    if known is None or known.encode() != state.sums.encode():
        write_sums(store_path, state.sums)


def _leave_sound_log(store_path: Path, found: SqliteLog | None, verdict: LogVerdict) -> None:
    log_file = log_path(store_path)
    is_dropped = not verdict.is_used and log_file.exists()
    if is_dropped:
        log_file.unlink()
    elif verdict.is_damaged and found is not None:
        os.truncate(log_file, found.frame_end(found.frames))
    if is_dropped or verdict.is_damaged:
        # SQLite creates the index again from the log.
        index_path(store_path).unlink(missing_ok=True)


def _is_in_use(store_path: Path) -> bool:
    """Return whether another program has the store open; SQLite then relies on the index."""
    import fcntl  # not on Windows, where twins have no such files

    try:
        with index_path(store_path).open("rb+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _LOCK_OF_USERS)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
