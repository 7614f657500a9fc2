"""The live state of controllers in the database: written by their node, read by the next one.

Its age goes by the clock of the database alone, so that no clocks are compared. A writer locks the
row of its node: a declaration of death waits for it, and a node that was declared dead writes and
reads nothing.
"""

import time
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from leverframe.controller.hand_over import SavedLive
from leverframe.storage.fleet.postgres_connection import Connection
from leverframe.storage.fleet.postgres_lane import Claim
from leverframe.storage.fleet.postgres_statements import ALIVE

_PUT = (
    f"WITH alive AS ({ALIVE})"  # noqa: S608
    " INSERT INTO live (controller, at, data)"
    " SELECT own.number, clock_timestamp() - make_interval(secs => saved.age), saved.data"
    " FROM unnest(%(numbers)s::integer[], %(ages)s::float8[], %(data)b::bytea[])"
    " AS saved (number, age, data)"
    " JOIN controller AS own ON own.number = saved.number JOIN alive ON alive.name = own.node"
    " ON CONFLICT (controller) DO UPDATE SET at = EXCLUDED.at, data = EXCLUDED.data"
)
_TAKE = (
    f"WITH alive AS ({ALIVE})"  # noqa: S608
    " DELETE FROM live USING alive, controller AS own WHERE own.number = live.controller"
    " AND own.node = alive.name AND live.controller = ANY(%(numbers)s)"
    " RETURNING live.controller, live.data,"
    " extract(epoch FROM clock_timestamp() - live.at)::float8"
)


def put_live(connection: Connection, claim: Claim, live: Mapping[int, SavedLive]) -> None:
    """Write the live state of controllers that a node has, if it still has them."""
    values = {
        **asdict(claim),
        "numbers": list(live),
        "ages": [one.seconds_old() for one in live.values()],
        "data": [one.data for one in live.values()],
    }
    connection.execute(_PUT, values)


def take_live(connection: Connection, claim: Claim, numbers: Sequence[int]) -> dict[int, SavedLive]:
    """Read and delete the live state of controllers that a node has."""
    values = {**asdict(claim), "numbers": list(numbers)}
    rows = connection.execute(_TAKE, values).fetchall()
    as_of = time.monotonic()
    # A clock that was set back makes nothing younger than now.
    return {one: SavedLive(bytes(data), max(0.0, age), as_of) for one, data, age in rows}
