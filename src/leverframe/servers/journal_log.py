"""The journal of a controller as records of the process's log (level info)."""

import logging

from leverframe.controller import Controller
from leverframe.controller.findings import is_of_trouble

log = logging.getLogger("leverframe.journal")


class JournalLog:
    """The writer of journal entries to the log, attached only where level info is logged."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._number = 0
        controller.watchers.add(self._log_new)
        self._log_new()

    def _log_new(self) -> None:
        for entry in self._controller.engine.machine.journal.since(self._number):
            self._number = entry.number
            if is_of_trouble(entry.cause):
                # The part itself has logged it.
                continue
            fields = {"cause": entry.cause.kind, "detail": entry.cause.detail, "at": entry.wall}
            log.info("%s: %s", entry.cause, entry.text, extra=fields)

    async def close(self) -> None:
        self._controller.watchers.discard(self._log_new)
        self._log_new()


def is_wanted() -> bool:
    return log.isEnabledFor(logging.INFO)
