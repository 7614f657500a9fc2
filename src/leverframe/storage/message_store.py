"""The store as the outbox sees it: messages by number."""

import asyncio
from collections.abc import Mapping
from typing import Any

from leverframe.storage.store import DELETED, Changes, Store


class PersistentMessageStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self) -> dict[int, Any]:
        return self._store.messages()

    def write(self, messages: Mapping[int, Any]) -> asyncio.Future[None]:
        """Keep these messages; None removes one."""
        rows = {number: DELETED if row is None else row for number, row in messages.items()}
        return self._store.commit(Changes(messages=rows))
