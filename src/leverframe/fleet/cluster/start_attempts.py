"""Controllers that did not start at a node: why, and when each is tried again."""

import logging
import time
from collections.abc import Collection, MutableMapping

from leverframe.fleet.not_started import NOT_STARTED

log = logging.getLogger(__name__)

#: What does not start is tried again after this.
START_AGAIN_S = 5.0


class StartAttempts:
    def __init__(self, troubles: MutableMapping[str, str]) -> None:
        self._troubles = troubles
        #: When a controller that did not start is tried again, by its number.
        self.not_before: dict[int, float] = {}

    def is_due(self, number: int) -> bool:
        when = self.not_before.get(number)
        return when is None or when <= time.monotonic()

    def any_due(self) -> bool:
        return any(when <= time.monotonic() for when in self.not_before.values())

    def try_now(self) -> None:
        """Let what did not start wait no longer."""
        self.not_before = dict.fromkeys(self.not_before, time.monotonic())

    def note(self, number: int, trouble: str | None) -> None:
        """Note that a controller runs, or why not; each reason is logged once."""
        name = f"{NOT_STARTED}{number}"
        if trouble is None:
            self.not_before.pop(number, None)
            self._troubles.pop(name, None)
            return
        if self._troubles.get(name) != trouble:
            log.error("%s", trouble)
        self._troubles[name] = trouble
        self.not_before[number] = time.monotonic() + START_AGAIN_S

    def forget_except(self, own: Collection[int]) -> None:
        """Forget that controllers did not start which another node has by now."""
        for number in [one for one in self.not_before if one not in own]:
            del self.not_before[number]
            self._troubles.pop(f"{NOT_STARTED}{number}", None)
