"""Entries of a journal on their way to the history, with what their numbers there follow from."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.engine.journal import Entry, EntryReport, report_of
from leverframe.storage.history.compactor import Compactor
from leverframe.storage.history.entries import EntryRow


class NewEntries(Struct, frozen=True):
    entries: list[Entry]
    #: What is added to numbers; None until the history was asked for its newest.
    base: int | None
    #: The number of entries of a journal that continues from another node.
    told_elsewhere: int | None

    def add_to(self, compactor: Compactor) -> int:
        """Store them, and return what is added to numbers."""
        base = self.stage_in(compactor)
        compactor.chunk_store.commit()
        return base

    def stage_in(self, compactor: Compactor) -> int:
        """Do the same for a caller that commits."""
        chunk_store = compactor.chunk_store
        base = self._base_after(chunk_store.entries.newest())
        reports = [_renumber(report_of(entry), base) for entry in self.entries]
        chunk_store.add_entries(
            [
                EntryRow(one.number, one.time, one.cause, one.which, msgspec.json.encode(one))
                for one in reports
            ]
        )
        return base

    def _base_after(self, newest: int) -> int:
        if self.base is not None:
            return self.base
        # Of entries that are stored already the newest is the last one that was recorded elsewhere.
        return newest + 1 if self.told_elsewhere is None else max(0, newest - self.told_elsewhere)


def _renumber(report: EntryReport, base: int) -> EntryReport:
    """Count numbers of entries on from those of earlier runs."""
    cause = report.by
    if cause.after or cause.conditions:
        conditions = tuple(
            replace(one, after=base + one.after) if one.after else one for one in cause.conditions
        )
        after = base + cause.after if cause.after else 0
        cause = replace(cause, conditions=conditions, after=after)
    return replace(report, number=base + report.number, by=cause, after=cause.after or None)
