"""Twins for tests: complete controllers that a test starts, moves through time and inspects.

    from leverframe.testing import Twin

    with Twin(hw="3.5", sw="1.49") as twin:
        twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
        twin.advance("10min")
        assert twin.state["OUT0"] == 0

With pytest nothing needs to be imported: the package `pytest-leverframe` provides the fixtures
`twin`, `twin_factory` and `fleet`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leverframe.core.durations import BadDuration, BadMoment
    from leverframe.core.profile import UnknownProfile
    from leverframe.devices.simulated.fault_catalogue import BadFault, Fault
    from leverframe.fleet.client import NodeRefused
    from leverframe.host.controller.snapshot import BadSnapshot, NoLiveSnapshot
    from leverframe.host.maintenance.configuration import BadSettings
    from leverframe.testing import faults
    from leverframe.testing.any_fleet import AnyFleet, TwinRollout
    from leverframe.testing.any_twin import AnyTwin, TwinNotReached
    from leverframe.testing.fleet import BadFleet, Fleet
    from leverframe.testing.in_process import LoopTwin
    from leverframe.testing.misuse import BadCall
    from leverframe.testing.node_fleet import NodeFleet, NodeTwin
    from leverframe.testing.observations import (
        NotRequested,
        SentEmail,
        SentHttp,
        SentMqtt,
        SentSms,
        SentTrap,
        TwinOutbox,
        TwinRequest,
        UnknownLabel,
    )
    from leverframe.testing.process_twin import ProcessTwin, TwinDidNotStart
    from leverframe.testing.rule_words import BadRule
    from leverframe.testing.transport import TwinAddress, TwinRefused, TwinSnapshot
    from leverframe.testing.twin import Twin
    from leverframe.testing.twin_parts import TwinClock, TwinFault

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
    ".core.durations": (
        "BadDuration",
        "BadMoment",
    ),
    ".core.profile": ("UnknownProfile",),
    ".devices.simulated.fault_catalogue": (
        "BadFault",
        "Fault",
    ),
    ".fleet.client": ("NodeRefused",),
    ".host.controller.snapshot": (
        "BadSnapshot",
        "NoLiveSnapshot",
    ),
    ".host.maintenance.configuration": ("BadSettings",),
    "any_fleet": (
        "AnyFleet",
        "TwinRollout",
    ),
    "any_twin": (
        "AnyTwin",
        "TwinNotReached",
    ),
    "fleet": (
        "BadFleet",
        "Fleet",
    ),
    "in_process": ("LoopTwin",),
    "misuse": ("BadCall",),
    "node_fleet": (
        "NodeFleet",
        "NodeTwin",
    ),
    "observations": (
        "NotRequested",
        "SentEmail",
        "SentHttp",
        "SentMqtt",
        "SentSms",
        "SentTrap",
        "TwinOutbox",
        "TwinRequest",
        "UnknownLabel",
    ),
    "process_twin": (
        "ProcessTwin",
        "TwinDidNotStart",
    ),
    "rule_words": ("BadRule",),
    "transport": (
        "TwinAddress",
        "TwinRefused",
        "TwinSnapshot",
    ),
    "twin": ("Twin",),
    "twin_parts": (
        "TwinClock",
        "TwinFault",
    ),
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
