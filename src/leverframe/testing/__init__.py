"""Twins for tests: whole controllers that a test starts, moves through time and looks into.

    from leverframe.testing import Twin

    with Twin(hw="3.5", sw="1.49") as twin:
        twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
        twin.advance("10min")
        assert twin.state["OUT0"] == 0

With pytest nothing needs to be imported: the package `pytest-leverframe` brings the fixtures
`twin`, `twin_factory` and `fleet`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leverframe.controller.live_snapshot import NoLiveSnapshot
    from leverframe.controller.saved_snapshot import BadSnapshot
    from leverframe.durations import BadDuration
    from leverframe.fleet.node_client import NodeRefused
    from leverframe.hardware.fault_catalogue import BadFault, Fault
    from leverframe.maintenance.given_settings import BadSettings
    from leverframe.moments import BadMoment
    from leverframe.profile import UnknownProfile
    from leverframe.testing import faults
    from leverframe.testing.any_fleet import AnyFleet
    from leverframe.testing.any_twin import AnyTwin, TwinNotReached
    from leverframe.testing.explanation import UnknownLabel
    from leverframe.testing.fleet import BadFleet, Fleet
    from leverframe.testing.loop_twin import LoopTwin
    from leverframe.testing.misuse import BadCall
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
    from leverframe.testing.process_twin import ProcessTwin, TwinDidNotStart
    from leverframe.testing.requests import NotRequested, TwinRequest
    from leverframe.testing.rule_words import BadRule
    from leverframe.testing.transport import TwinAddress, TwinRefused, TwinSnapshot
    from leverframe.testing.twin import Twin
    from leverframe.testing.twin_clock import TwinClock
    from leverframe.testing.twin_faults import TwinFault
    from leverframe.testing.twin_rollout import TwinRollout

__all__ = [
    "AnyFleet",
    "AnyTwin",
    "BadCall",
    "BadDuration",
    "BadFault",
    "BadFleet",
    "BadMoment",
    "BadRule",
    "BadSettings",
    "BadSnapshot",
    "Fault",
    "Fleet",
    "LoopTwin",
    "NoLiveSnapshot",
    "NodeFleet",
    "NodeRefused",
    "NodeTwin",
    "NotRequested",
    "ProcessTwin",
    "SentEmail",
    "SentHttp",
    "SentMqtt",
    "SentSms",
    "SentTrap",
    "Twin",
    "TwinAddress",
    "TwinClock",
    "TwinDidNotStart",
    "TwinFault",
    "TwinNotReached",
    "TwinOutbox",
    "TwinRefused",
    "TwinRequest",
    "TwinRollout",
    "TwinSnapshot",
    "UnknownLabel",
    "UnknownProfile",
    "faults",
]

_MODULES = {
    ".controller.live_snapshot": ("NoLiveSnapshot",),
    ".controller.saved_snapshot": ("BadSnapshot",),
    ".durations": ("BadDuration",),
    ".maintenance.given_settings": ("BadSettings",),
    ".fleet.node_client": ("NodeRefused",),
    ".moments": ("BadMoment",),
    ".hardware.fault_catalogue": ("BadFault", "Fault"),
    ".profile": ("UnknownProfile",),
    "any_fleet": ("AnyFleet",),
    "any_twin": ("AnyTwin", "TwinNotReached"),
    "explanation": ("UnknownLabel",),
    "fleet": ("BadFleet", "Fleet"),
    "loop_twin": ("LoopTwin",),
    "misuse": ("BadCall",),
    "node_fleet": ("NodeFleet",),
    "node_twin": ("NodeTwin",),
    "outbox": ("SentEmail", "SentHttp", "SentMqtt", "SentSms", "SentTrap", "TwinOutbox"),
    "process_twin": ("ProcessTwin", "TwinDidNotStart"),
    "requests": ("NotRequested", "TwinRequest"),
    "rule_words": ("BadRule",),
    "transport": ("TwinAddress", "TwinRefused", "TwinSnapshot"),
    "twin": ("Twin",),
    "twin_clock": ("TwinClock",),
    "twin_faults": ("TwinFault",),
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
