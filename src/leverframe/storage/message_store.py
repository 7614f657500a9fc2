"""The store as the outbox sees it: messages by number."""

import asyncio
from collections.abc import Mapping
from typing import Any

from leverframe.storage.store import DELETED, Changes
from leverframe.storage.writer import Writer


class PersistentMessageStore:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def load(self) -> dict[int, Any]:
        return self._writer.store.messages()

    def write(self, messages: Mapping[int, Any]) -> asyncio.Future[None]:
        """Queue these messages to be kept; None removes one."""
        rows = {number: DELETED if row is None else row for number, row in messages.items()}
        return self._writer.commit(Changes(messages=rows))
