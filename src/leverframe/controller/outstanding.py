"""What is still on its way when a request has been accepted: the client is answered after it."""

import asyncio
from typing import Any

import msgspec


class Outstanding(msgspec.Struct, eq=False):
    #: The request's own change.
    write: asyncio.Future[None] | None = None
    #: What is only waited for, because its owner deals with its faults: what was switched is
    #: switched, whether or not it can be remembered.
    beside: list[asyncio.Future[Any]] = []

    #: What a device was asked for by this request.
    answer: asyncio.Future[None] | None = None

    async def finish(self) -> None:
        """Wait until all of it has ended; raise StoreUnavailable where the change is not on disk.

        Raise the refusal where a device has not taken what it was to take. To stop waiting takes
        nothing back.
        """
        if self.write is not None:
            await self.write
        if self.answer is not None:
            await asyncio.shield(self.answer)
        if self.beside:
            await asyncio.wait(self.beside)
