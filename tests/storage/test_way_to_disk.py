"""The way of a change to the disk: no function on it only passes on."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import leverframe
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes, rows_from_changes
from leverframe.storage.writer import Writer

SOURCE = str(Path(leverframe.__file__).parent)
#: Where a change leaves its task or its thread, and where SQLite gets it.
HAND_OVER = ("create_task", "submit", "execute")


async def test_change_takes_at_most_five_calls_to_the_transaction(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    writer = Writer(EncryptingStore(store, tmp_path / "key"))
    rows = rows_from_changes(Changes(settings={"em4.password": "secret"}))
    way: list[str] = []

    def follow(frame: FrameType, event: str, callee: Any) -> None:
        if event == "c_call":
            name = callee.__name__
        elif event == "call":
            name = frame.f_code.co_name
        else:
            return
        if name in HAND_OVER:
            calls = []
            caller: FrameType | None = frame
            while caller is not None:
                if caller.f_code.co_filename.startswith(SOURCE):
                    calls.append(caller.f_code.co_qualname)
                caller = caller.f_back
            way.extend(reversed(calls))

    store._thread.submit(sys.setprofile, follow).result()
    sys.setprofile(follow)
    try:
        await writer.queue(rows)
    finally:
        sys.setprofile(None)
    await writer.close()
    assert list(dict.fromkeys(way)) == [
        "Writer.queue",
        "GroupCommit.add",
        "GroupCommit._run",
        "SqliteStore._write_batch",
        "WatchedFile.write",
    ]
