"""The data folder of a stopped controller: a store with settings and secrets, and a snapshot."""

import asyncio
from pathlib import Path

from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes

SETTINGS = {
    "outputs.0.name": "Lamp",
    "email.password": "hunter2 of the mail",
    "access.admin.password": "$argon2id$hash-of-the-admin",
    "access.required": True,
}


def fill(folder: Path) -> None:
    async def write() -> None:
        store = EncryptingStore(SqliteStore(folder / "store.db"), folder / "secrets.key")
        await store.commit(Changes(settings=dict(SETTINGS), kept={"energy.0": 1.5}))
        await store.close()

    folder.mkdir()
    asyncio.run(write())
    Snapshots(folder / "store.db").take()
