"""Snapshots of the store at the start, every few hours, and immediately when secrets change.

Secrets that were erased must not live on in older snapshots, so a change of a secret replaces them
all. A failure is shown under `/health`; the controller keeps running, and the next change that
reaches the disk triggers another attempt.
"""

import asyncio
import logging
from collections.abc import MutableMapping
from contextlib import suppress

from leverframe.engine.settings import Settings
from leverframe.engine.tree import secrets_differ
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

INTERVAL_S = 6 * 3600.0
TROUBLE = "snapshots"


class SnapshotService:
    def __init__(
        self,
        snapshots: Snapshots,
        troubles: MutableMapping[str, str],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._snapshots = snapshots
        self._troubles = troubles
        self._interval_s = interval_s
        self._wanted = asyncio.Event()
        self._must_forget = False
        self._closing = False
        self._task = asyncio.create_task(self._run())

    def settings_changed(self, old: Settings, new: Settings) -> None:
        """Ask for a snapshot when secrets changed, or when the last one failed."""
        if secrets_differ(old, new):
            self._must_forget = True
            self._wanted.set()
        elif TROUBLE in self._troubles:
            self._wanted.set()

    async def close(self) -> None:
        """Stop, after secrets that were erased just now are gone from the snapshots."""
        self._closing = True
        self._wanted.set()
        await self._task

    async def _run(self) -> None:
        await self._take()
        while not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._wanted.wait()
            if not self._closing:
                await self._take()
        if self._must_forget:
            await self._take()

    async def _take(self) -> None:
        self._wanted.clear()
        try:
            if self._must_forget:
                await asyncio.to_thread(self._snapshots.renew)
                # Changes made in the meantime need another one.
                self._must_forget = self._wanted.is_set()
            else:
                await asyncio.to_thread(self._snapshots.take)
        except StoreUnavailable as error:
            self._note_trouble(str(error))
        except Exception as fault:
            # A fault of ours must not end the taking of snapshots.
            log.exception("a snapshot failed unexpectedly")
            self._note_trouble(
                f"No snapshot could be created ({type(fault).__name__}); see the log."
            )
        else:
            self._troubles.pop(TROUBLE, None)

    def _note_trouble(self, sentence: str) -> None:
        if self._troubles.get(TROUBLE) != sentence:
            log.error("%s", sentence)
            self._troubles[TROUBLE] = sentence
