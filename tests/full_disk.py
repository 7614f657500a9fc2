"""A store on a disk that can become full and be cleared again."""

from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable


class Disk(MemoryStore):
    """A store on a disk that can become full and be cleared again."""

    is_full = False
    #: Writes that it has refused.
    refused = 0

    async def write(self, rows: Rows) -> None:
        if self.is_full:
            self.refused += 1
            raise StoreUnavailable("The change could not be saved: the disk is full.")
        await super().write(rows)
