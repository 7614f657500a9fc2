"""Twins for tests: whole controllers that a test starts, moves through time and looks into.

    from leverframe.testing import Twin

    with Twin(hw="3.5", sw="1.49") as twin:
        twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
        twin.advance("10min")
        assert twin.state["OUT0"] == 0

With pytest nothing needs to be imported: the fixtures `twin`, `twin_factory` and `fleet` are there.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leverframe.fleet.node_client import NodeRefused
    from leverframe.testing import faults
    from leverframe.testing.any_fleet import AnyFleet
    from leverframe.testing.any_twin import AnyTwin, TwinAddress, TwinNotReached
    from leverframe.testing.fleet import Fleet
    from leverframe.testing.loop_twin import LoopTwin
    from leverframe.testing.node_fleet import NodeFleet
    from leverframe.testing.node_twin import NodeTwin
    from leverframe.testing.outbox import (
        SentEmail,
        SentHttp,
        SentMqtt,
        SentSms,
        SentTrap,
        TwinOutbox,
    )
    from leverframe.testing.process_twin import ProcessTwin
    from leverframe.testing.requests import TwinRequest
    from leverframe.testing.set_fault import TwinFault
    from leverframe.testing.twin import Twin
    from leverframe.testing.twin_client import TwinRefused
    from leverframe.testing.twin_clock import TwinClock
    from leverframe.testing.twin_rollout import TwinRollout

__all__ = [
    "AnyFleet",
    "AnyTwin",
    "Fleet",
    "LoopTwin",
    "NodeFleet",
    "NodeRefused",
    "NodeTwin",
    "ProcessTwin",
    "SentEmail",
    "SentHttp",
    "SentMqtt",
    "SentSms",
    "SentTrap",
    "Twin",
    "TwinAddress",
    "TwinClock",
    "TwinFault",
    "TwinNotReached",
    "TwinOutbox",
    "TwinRefused",
    "TwinRequest",
    "TwinRollout",
    "faults",
]

_MODULES = {
    ".fleet.node_client": ("NodeRefused",),
    "any_fleet": ("AnyFleet",),
    "any_twin": ("AnyTwin", "TwinAddress", "TwinNotReached"),
    "fleet": ("Fleet",),
    "loop_twin": ("LoopTwin",),
    "node_fleet": ("NodeFleet",),
    "node_twin": ("NodeTwin",),
    "outbox": ("SentEmail", "SentHttp", "SentMqtt", "SentSms", "SentTrap", "TwinOutbox"),
    "process_twin": ("ProcessTwin",),
    "requests": ("TwinRequest",),
    "set_fault": ("TwinFault",),
    "twin": ("Twin",),
    "twin_client": ("TwinRefused",),
    "twin_clock": ("TwinClock",),
    "twin_rollout": ("TwinRollout",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "faults":
        return import_module(f"{__name__}.faults")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
