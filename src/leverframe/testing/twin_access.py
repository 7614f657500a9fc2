"""What the parts of a twin build on: doing something past its port, and what it is."""

from abc import ABC, abstractmethod
from datetime import tzinfo
from typing import Any

import msgspec

from leverframe.profile import Profile


class TwinAccess(ABC):
    """A controller that a test reaches past its port."""

    #: The time zone of its schedule, and of `now`.
    zone: tzinfo
    #: Makes what is random in it the same in every run.
    seed: int

    @property
    @abstractmethod
    def is_on(self) -> bool:
        """Whether it was started, and not closed since."""

    @property
    @abstractmethod
    def profile(self) -> Profile:
        """Its hardware and software version."""

    @abstractmethod
    def _operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Do something to it past its port; raises `TwinRefused`."""

    def _json(self, path: str) -> Any:
        return msgspec.json.decode(self._operate(path))

    def _knows_path(self, path: str) -> bool:
        """Return whether something answers at a path, or below it: not only now, or by chance."""
        from leverframe.testing.misuse import is_below, own_paths
        from leverframe.testing.twin_client import TwinRefused

        if any(is_below(one, path) for one in own_paths()):
            return True
        if any(is_below(path, one) or is_below(one, path) for one in self._own_answers()):
            return True
        try:
            self._operate(path)
        except TwinRefused as refused:
            return refused.status not in (404, 410)
        return True

    def _own_answers(self) -> list[str]:
        """Return the paths that were given answers by `reply`."""
        fields = (text.split("*") for _, text in self._present_faults())
        return [
            field.removeprefix("path:")
            for kind, *others in fields
            if kind == "reply"
            for field in others
            if field.startswith("path:")
        ]

    def _present_faults(self) -> list[tuple[int, str]]:
        """Return number and text of the faults that are set."""
        return [(one["number"], one["text"]) for one in self._json("/api/sim")["faults"]["set"]]
