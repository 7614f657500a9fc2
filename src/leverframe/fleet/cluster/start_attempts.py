"""Controllers that did not start at a node: why, and when each is tried again."""

import logging
import time
from collections.abc import Collection

from leverframe.fleet.not_started import NotStarted
from leverframe.fleet.records import Registry

log = logging.getLogger(__name__)

#: What does not start is tried again after this.
START_AGAIN_S = 5.0


class StartAttempts:
    def __init__(self, not_started: NotStarted, registry: Registry) -> None:
        self._not_started = not_started
        self._registry = registry
        not_started.is_retried = True
        #: When a controller that did not start is tried again, by its number.
        self.not_before: dict[int, float] = {}

    def is_due(self, number: int) -> bool:
        when = self.not_before.get(number)
        return when is None or when <= time.monotonic()

    def any_due(self, among: Collection[int] | None = None) -> bool:
        """Return whether one that did not start is to be tried now; of all if none are named."""
        chosen = self.not_before if among is None else self.not_before.keys() & set(among)
        return any(map(self.is_due, chosen))

    def try_now(self, numbers: Collection[int]) -> None:
        """Let controllers that did not start wait no longer."""
        waiting = [one for one in numbers if one in self.not_before]
        self.not_before |= dict.fromkeys(waiting, time.monotonic())

    def try_all_now(self) -> None:
        self.try_now(self.not_before.keys())

    def note(self, number: int, trouble: str | None) -> None:
        """Note that a controller runs, or why not; each reason is logged once."""
        record = self._registry.records.get(number)
        # Without a record it was removed meanwhile.
        if trouble is None or record is None:
            self.not_before.pop(number, None)
            self._not_started.forget_stored(number)
            return
        if self._not_started.why_stored(number) != trouble:
            log.error("%s", trouble)
        self._not_started.note_stored(number, trouble, record.name, record.address)
        self.not_before[number] = time.monotonic() + START_AGAIN_S

    def forget_except(self, own: Collection[int]) -> None:
        """Forget that controllers did not start which another node has by now."""
        for number in [one for one in self.not_before if one not in own]:
            del self.not_before[number]
            self._not_started.forget_stored(number)
