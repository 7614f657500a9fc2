"""What waits to be written of the history of one controller, and the statement that writes it.

Chunks, the texts that explain values, entries of the journal and the mark go together, behind a
fence: nothing is written of a controller that this node does not have in its present life.
"""

from typing import Any

from msgspec import Struct

from leverframe.storage.history.chunks import CHUNK_COLUMNS, ChunkRow
from leverframe.storage.history.entries import ENTRY_COLUMNS, REPLACED, EntryRow


# The row of the node first, in the order of a node that ends its life. Both are locked, so both are
# looked at again if another transaction was changing one of them: also a node that has the
# controller again in its next life finds that the life of which this is has ended.
def _fence(which: str) -> str:
    return (
        "SELECT controller.number FROM node JOIN controller ON controller.node = node.name"  # noqa: S608
        f" WHERE controller.number = {which} AND node.name = %(node)s"
        " AND node.epoch = %(epoch)s AND node.is_alive"
        " FOR KEY SHARE OF node FOR SHARE OF controller"
    )


FENCE = _fence("%(controller)s")
#: Writes the ends of many runs: when each was, or what was not recorded until then.
LEAVE = (
    f"WITH fence AS ({_fence('ANY(%(numbers)s)')}),"  # noqa: S608
    " given AS (SELECT given.* FROM fence JOIN unnest(%(numbers)s::integer[], %(ends)s::float8[],"
    " %(data)b::bytea[]) AS given (number, ended, data) USING (number)),"
    " marked AS (UPDATE mark SET ended = given.ended FROM given"
    " WHERE id = number AND data IS NULL)"
    " INSERT INTO last_moments (controller, ended, data)"
    " SELECT number, ended, data FROM given WHERE data IS NOT NULL ON CONFLICT DO NOTHING"
)

_CHUNKS = {
    "tiers": "smallint",
    "labels": "text",
    "starts": "double precision",
    "ends": "double precision",
    "points": "integer",
    "costs": "integer",
    "data": "bytea",
}
_TEXTS = {"told": "bigint", "texts": "text"}
_ENTRIES = {
    "numbers": "bigint",
    "times": "double precision",
    "causes": "text",
    "whiches": "text",
    "entries": "bytea",
}


def _from_fence(arrays: dict[str, str]) -> str:
    given = ", ".join(f"%({name})b::{kind}[]" for name, kind in arrays.items())
    return f"SELECT fence.number, given.* FROM fence, unnest({given}) AS given"  # noqa: S608


_PUT_CHUNKS = f"put AS (INSERT INTO chunk (controller, {CHUNK_COLUMNS}) {_from_fence(_CHUNKS)})"
_PUT_TEXTS = (
    "explained AS (INSERT INTO told (controller, number, text)"
    f" {_from_fence(_TEXTS)} ON CONFLICT DO NOTHING)"
)
_PUT_ENTRIES = (
    f"entered AS (INSERT INTO entry (controller, {ENTRY_COLUMNS}) {_from_fence(_ENTRIES)}"  # noqa: S608
    f" ON CONFLICT (controller, number) DO UPDATE SET {REPLACED}),"
    " let_go AS (DELETE FROM entry USING fence"
    " WHERE entry.controller = fence.number AND entry.number <= %(oldest)s)"
)
_PUT_MARK = (
    "marked AS (INSERT INTO mark (id, at) SELECT number, %(at)s::double precision FROM fence"
    " ON CONFLICT (id) DO UPDATE SET at = excluded.at, ended = NULL)"
)
_LET_GO = (
    "recorded AS (DELETE FROM last_moments USING fence"
    " WHERE controller = fence.number AND id <= %(recorded)s)"
)


class HistoryRows(Struct):
    """Rows of one controller that wait."""

    chunks: list[ChunkRow] = []
    #: What explains values, by its number.
    texts: dict[int, str] = {}
    #: Entries of the journal, by number; those up to the oldest one make room.
    entries: dict[int, EntryRow] = {}
    oldest: int = 0
    #: Up to when everything is recorded.
    until: float | None = None
    #: Last moments of earlier runs are recorded with this, up to this one.
    recorded: int | None = None

    @property
    def is_empty(self) -> bool:
        rows = self.chunks or self.texts or self.entries
        return not rows and self.until is None and self.recorded is None

    def statement(self) -> str:
        """Return what writes them; it finds 0 where the fence held it back."""
        clauses = [f"fence AS ({FENCE})"]
        clauses += [_PUT_CHUNKS] if self.chunks else []
        clauses += [_PUT_TEXTS] if self.texts else []
        clauses += [_PUT_ENTRIES] if self.entries else []
        clauses += [] if self.until is None else [_PUT_MARK]
        clauses += [] if self.recorded is None else [_LET_GO]
        return f"WITH {', '.join(clauses)} SELECT count(*) FROM fence"  # noqa: S608

    def values(self) -> dict[str, Any]:
        """Return the values of that statement, without those of the fence."""
        found: dict[str, Any] = {"at": self.until, "oldest": self.oldest, "recorded": self.recorded}
        if self.chunks:
            found |= zip(_CHUNKS, map(list, zip(*self.chunks, strict=True)), strict=True)
        if self.texts:
            found |= zip(_TEXTS, (list(self.texts), list(self.texts.values())), strict=True)
        if self.entries:
            rows = self.entries.values()
            found |= zip(_ENTRIES, map(list, zip(*rows, strict=True)), strict=True)
        return found
