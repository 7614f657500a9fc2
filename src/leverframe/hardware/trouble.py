"""One part's entry in the list of what is wrong: told once in the log, shown while it lasts."""

import logging
from collections.abc import MutableMapping

log = logging.getLogger(__name__)


class Trouble:
    def __init__(self, troubles: MutableMapping[str, str], part: str) -> None:
        self._troubles = troubles
        self._part = part

    def tell(self, sentence: str) -> None:
        """Something is wrong; the same thing is logged once."""
        if self._troubles.get(self._part) != sentence:
            self._troubles[self._part] = sentence
            log.warning("%s: %s", self._part, sentence)

    def clear(self) -> None:
        """All is well with this part, again or still."""
        if self._troubles.pop(self._part, None) is not None:
            log.warning("%s: works again", self._part)
