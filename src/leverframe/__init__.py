"""Leverframe: a networked controller in software.

What is exported here and by `leverframe.testing` is the library: it is documented, typed, and
changed only as its version number says (semantic versioning). Everything else is the program's own
and may change with any release. Importing this package starts nothing and changes no global state.
"""

from importlib import import_module

# Type checkers treat this name like `typing.TYPE_CHECKING`. Because `typing` is not imported here,
# `__main__` imports it while garbage collection is disabled.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from leverframe.core.profile import Profile
    from leverframe.core.runtime.clock import Clock, SystemClock, VirtualClock
    from leverframe.devices.board import Board
    from leverframe.devices.simulated.simulated_board import SimulatedBoard
    from leverframe.host.controller import Controller
    from leverframe.storage.store import MemoryStore, Store

__version__ = "0.2.0"
__all__ = [
    "Board",
    "Clock",
    "Controller",
    "MemoryStore",
    "Profile",
    "SimulatedBoard",
    "Store",
    "SystemClock",
    "VirtualClock",
    "__version__",
]

#: Name -> its module, which is loaded at the first access: startup needs only the version.
_PLACES = {
    "Board": "leverframe.devices.board",
    "Clock": "leverframe.core.runtime.clock",
    "Controller": "leverframe.host.controller",
    "MemoryStore": "leverframe.storage.store",
    "Profile": "leverframe.core.profile",
    "SimulatedBoard": "leverframe.devices.simulated.simulated_board",
    "Store": "leverframe.storage.store",
    "SystemClock": "leverframe.core.runtime.clock",
    "VirtualClock": "leverframe.core.runtime.clock",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
