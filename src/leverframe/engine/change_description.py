"""Description of a change of settings, for the log. Secrets are named and never shown.

Logs are passed around, so that what only the administrator sees is not shown either.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from leverframe.engine.facts import Fact
from leverframe.engine.tree import MISSING, is_confidential

#: How many changed settings of one request are named, and how much of a value is shown.
MAX_LISTED = 5
MAX_LETTERS = 60
_SHORT = (bool, int, float)


#: Shared by most descriptions, of which many are kept.
_NONE: Mapping[str, bool] = MappingProxyType({})


class ChangeDescription(msgspec.Struct, gc=False):
    """The changes of one request; `str` puts them into one line."""

    leaves: Sequence[tuple[str, Any, Any]]
    uploads: Mapping[str, bool]
    left_out: int
    note: str = ""

    @classmethod
    def of(
        cls, leaves: Sequence[tuple[str, Any, Any]], blobs: Mapping[str, bytes | None]
    ) -> "ChangeDescription":
        """Keep what is reported of a change, and not the change itself, which may be large."""
        uploads = {name: body is not None for name, body in blobs.items()} if blobs else _NONE
        return cls(tuple(leaves[:MAX_LISTED]), uploads, max(0, len(leaves) - MAX_LISTED))

    def as_fact(self) -> Fact:
        figures = {
            "text": str(self),
            "changes": [_leaf_figures(*leaf) for leaf in self.leaves],
            "left_out": self.left_out,
            "uploads": dict(self.uploads),
        }
        return Fact("settings", figures=figures)

    def __str__(self) -> str:
        parts = [_leaf_text(*leaf) for leaf in self.leaves]
        if self.left_out:
            parts.append(f"{self.left_out} more settings changed")
        parts += [
            f"{name} {'uploaded' if there else 'removed'}" for name, there in self.uploads.items()
        ]
        return "; ".join(parts) + self.note


def _leaf_text(path: str, old: Any, new: Any) -> str:
    if is_confidential(path):
        return f"{path} changed"
    if new is MISSING:
        return f"{path} removed"
    if old is MISSING:
        return f"{path} set to {_value_text(new)}"
    return f"{path} changed from {_value_text(old)} to {_value_text(new)}"


def _leaf_figures(path: str, old: Any, new: Any) -> dict[str, Any]:
    """Return a change as data: without what is confidential, and without what was not there."""
    if is_confidential(path):
        return {"path": path}
    values = {"old": old, "new": new}
    return {"path": path} | {
        name: value if isinstance(value, _SHORT) else _value_text(value)
        for name, value in values.items()
        if value is not MISSING
    }


def _value_text(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]}..."
