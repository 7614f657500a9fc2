"""Everything that a status file can show, at one moment."""

from dataclasses import dataclass

from leverframe.engine.engine import Engine
from leverframe.engine.moment import Moment


@dataclass(frozen=True, slots=True)
class View:
    engine: Engine
    #: What the controller is called in the network.
    name: str
    #: Its MAC address, six bytes joined by colons.
    mac: str
    at: Moment
