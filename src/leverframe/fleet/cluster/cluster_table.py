"""Sharing a database: the `[cluster]` table of the fleet file, and its flags.

    [cluster]
    database = "host=/run/postgresql dbname=fleet"   # as for psql: words, or postgresql://...
    node = "north"                                   # its name; the machine's if not given
    inner = "10.0.0.5:8070"                          # where the other nodes reach this one
    capacity = 2                                     # what it carries in proportion to the others
    live_state_every = 1                             # seconds; saves the live state of controllers

The password of the database does not stand here, but in a place that PostgreSQL's programs read,
such as `~/.pgpass`.
"""

import socket
from typing import Annotated

from msgspec import Meta, Struct

from leverframe.config import BadConfiguration
from leverframe.config.fields import MAX_PORT
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.tenants import is_label

CLUSTER = "cluster"
NODE_NAME = "lower-case letters, digits and dashes, at most 31"


class ClusterTable(Struct, frozen=True, forbid_unknown_fields=True):
    database: Annotated[str, Meta(min_length=1)]
    node: str | None = None
    inner: str = "127.0.0.1:0"
    capacity: Annotated[int, Meta(ge=1, le=1000)] = 1
    live_state_every: Annotated[int, Meta(ge=1, le=60)] | None = None

    def node_name(self) -> str:
        name = self.node or socket.gethostname().partition(".")[0].lower()
        if not is_label(name):
            raise BadConfiguration(
                f"node: {name[:40]!r} is not a valid node name. Allowed: {NODE_NAME}."
            )
        return name

    def inner_place(self) -> Place:
        host, _, port = self.inner.rpartition(":")
        if not host or not port.isdecimal() or int(port) > MAX_PORT:
            raise BadConfiguration(
                f"inner: {self.inner[:60]!r} is not an address. Write HOST:PORT, for example"
                " 10.0.0.5:8070."
            )
        return Place(self.node_name(), host.strip("[]"), int(port))
