"""The door of a node among several: it answers for every controller of the fleet."""

from functools import partial

from leverframe.fleet.cluster.directory import Directory
from leverframe.fleet.cluster.inner_port import InnerPort
from leverframe.fleet.cluster.introduction import Introducer
from leverframe.fleet.cluster.joining import HOLD_S, Joining, JoiningConnection
from leverframe.fleet.cluster.node_calls import NodeCaller
from leverframe.fleet.door import Door


class FleetDoor:
    """Joins a door with those of the other nodes; made before the door listens."""

    def __init__(
        self, door: Door, directory: Directory, fleet_key: bytes, hold_s: float = HOLD_S
    ) -> None:
        introducer = Introducer(fleet_key)
        self.directory = directory
        self.inner = InnerPort(door, directory, introducer, hold_s)
        self.joining = Joining(door, directory, introducer, hold_s)
        self.caller = NodeCaller(directory, introducer)
        door.connections_as = partial(JoiningConnection, self.joining)
        door.directory = directory
