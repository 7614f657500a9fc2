"""The topics under which brokers keep messages of this controller, also after a restart.

A retained message stays on the broker until it is withdrawn there. What was published under an
earlier prefix, or by an earlier identity, is known only from here.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from leverframe.storage.store import Changes
from leverframe.storage.writer import Writer

log = logging.getLogger(__name__)

#: Where the store keeps the topics of announcements, and those of states.
ANNOUNCED, STATES = "mqtt.announced", "mqtt.states"


class RetainedTopics:
    def __init__(self, writer: Writer, kept: Mapping[str, Any], key: str) -> None:
        """Resume with what the store has kept under the key."""
        self._writer = writer
        self._key = key
        self._by_broker = {place: set[str](topics) for place, topics in kept.get(key, {}).items()}
        self._planned: asyncio.Handle | None = None

    def at(self, place: str) -> frozenset[str]:
        return frozenset(self._by_broker.get(place, ()))

    def has(self, place: str, topic: str) -> bool:
        return topic in self._by_broker.get(place, ())

    def add(self, place: str, topic: str) -> None:
        if not self.has(place, topic):
            self._by_broker.setdefault(place, set()).add(topic)
            self._save_soon()

    def remove(self, place: str, topic: str) -> None:
        if self.has(place, topic):
            self._by_broker[place].remove(topic)
            if not self._by_broker[place]:
                del self._by_broker[place]
            self._save_soon()

    def close(self) -> None:
        if self._planned is not None:
            self._planned.cancel()
            self._save()

    def _save_soon(self) -> None:
        # A hundred topics that change together are one change on the disk.
        if self._planned is None:
            self._planned = asyncio.get_running_loop().call_soon(self._save)

    def _save(self) -> None:
        self._planned = None
        rows = {place: sorted(topics) for place, topics in self._by_broker.items()}
        self._writer.commit(Changes(kept={self._key: rows})).add_done_callback(_log_failure)


def _log_failure(future: "asyncio.Future[None]") -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("what was published by MQTT is not on disk: %s", error)
