"""The start of a node's life: its identity, and its registration in the database."""

import time

from msgspec import Struct

from leverframe.errors import ErrorForPeople
from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.peer_watch import BEAT_S, LEASE_S, SeenNode
from leverframe.storage.fleet.postgres_connection import Connection
from leverframe.storage.fleet.postgres_lane import Claim


class NameTaken(ErrorForPeople):
    """Another node of this name is alive: one sentence."""


class NodeIdentity(Struct, frozen=True):
    """The name of a node, its inner address, and its capacity relative to the other nodes."""

    name: str
    place: Place
    capacity: int = 1

    @property
    def address(self) -> str:
        return f"{self.place.host}:{self.place.port}"


def begin_life(connection: Connection, identity: NodeIdentity) -> Claim:
    """Register a node; raise NameTaken if another node of its name is alive.

    A killed node has no session any more, or its counter stands still for a lease.
    """
    known = _find_node(connection, identity.name)
    until = time.monotonic() + LEASE_S
    while known is not None and known.is_alive and known.has_session:
        if time.monotonic() >= until:
            break
        time.sleep(BEAT_S)
        now = _find_node(connection, identity.name)
        if now is not None and now.epoch == known.epoch and now.beat > known.beat:
            raise NameTaken(
                f"A node {identity.name} is already running. Choose another name with --node."
            )
        known = now
    return membership.register(connection, identity.name, identity.address, identity.capacity)


def _find_node(connection: Connection, name: str) -> SeenNode | None:
    found = (one for one in membership.read_nodes(connection) if one.name == name)
    return next(found, None)
