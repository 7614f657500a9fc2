"""What the tables of the history ask of a connection, whichever database it leads to.

Statements are those that SQLite and PostgreSQL both understand, with `?` for values.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol


class Found(Protocol):
    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class HistoryConnection(Protocol):
    @property
    def in_transaction(self) -> bool: ...

    def execute(self, query: str, values: Sequence[Any] = ..., /) -> Found: ...

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> object: ...

    def close(self) -> None: ...
