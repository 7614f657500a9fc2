"""Live state as data: everything that an engine, or a part beside it, needs to continue.

`export_state` takes a picture that nothing changes afterwards; `import_state` makes any number of
copies from it that continue exactly as the original would have. Both keep what is immutable and
compared by identity, such as the settings, and copy all the rest. The bytes of a picture never
leave the process and are never read from outside.

Its tests fail if the engine contains something that cannot be copied, such as a lambda.
"""

import io
import pickle
from datetime import timezone
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from leverframe.engine import settings as tree_classes
from leverframe.engine.journal import Cause, Journal
from leverframe.engine.settings import Node
from leverframe.profile import Profile

Part = TypeVar("Part")

#: Never changed, so the copy and the original have the same one; of exactly these types.
_SHARED = frozenset(
    {Cause, MappingProxyType, Profile, ZoneInfo, timezone}
    | {
        node
        for node in vars(tree_classes).values()
        if isinstance(node, type) and issubclass(node, Node)
    }
)


class LiveState(Struct, Generic[Part], frozen=True):
    """The picture of a part, from which it can be restored."""

    picture: bytes
    #: What the picture refers to by position.
    shared: tuple[Any, ...]


class _Exporter(pickle.Pickler):
    def __init__(self, picture: io.BytesIO) -> None:
        super().__init__(picture, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Any] = []
        self._positions: dict[int, int] = {}

    def persistent_id(self, part: Any) -> int | None:
        if type(part) in _SHARED:
            position = self._positions.setdefault(id(part), len(self.shared))
            if position == len(self.shared):
                self.shared.append(part)
            return position
        if type(part) is Journal:
            # Its entries are immutable: copying the list of them is a fraction of the work.
            self.shared.append(part.copy())
            return len(self.shared) - 1
        return None


class _Importer(pickle.Unpickler):
    def __init__(self, state: LiveState[Any]) -> None:
        super().__init__(io.BytesIO(state.picture))
        self._shared = state.shared

    def persistent_load(self, position: int) -> Any:
        part = self._shared[position]
        return part.copy() if type(part) is Journal else part


def export_state(part: Part) -> LiveState[Part]:
    """Take a picture of an engine, or of plain state of another part."""
    picture = io.BytesIO()
    exporter = _Exporter(picture)
    exporter.dump(part)
    return LiveState(picture.getvalue(), tuple(exporter.shared))


def import_state(state: LiveState[Part]) -> Part:
    """Make a copy that continues exactly as the original did from that moment on."""
    copy: Part = _Importer(state).load()
    return copy
