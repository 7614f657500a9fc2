"""Everything that a status file can show, at one moment."""

from msgspec import Struct

from leverframe.engine.engine import Engine
from leverframe.engine.moment import Moment


class View(Struct, frozen=True):
    engine: Engine
    #: What the controller is called in the network.
    name: str
    #: Its MAC address, six bytes joined by colons.
    mac: str
    at: Moment
