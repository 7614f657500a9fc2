"""A store on a disk that can become full and be cleared again."""

import asyncio

from leverframe.storage.store import Changes, MemoryStore, StoreUnavailable, Then


class Disk(MemoryStore):
    """A store on a disk that can become full and be cleared again."""

    is_full = False

    def commit(self, changes: Changes, then: Then | None = None) -> asyncio.Future[None]:
        if not self.is_full:
            return super().commit(changes, then)
        error = StoreUnavailable("The change could not be saved: the disk is full.")
        if then is not None:
            then(error)
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        failed.set_exception(error)
        return failed
