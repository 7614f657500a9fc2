"""Lanes on a real database, for tests."""

from pathlib import Path

from leverframe.fleet.cluster import membership
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.postgres_lane import PostgresLane
from tests.postgres_server import server_of_process


def postgres_lane(folder: Path) -> PostgresLane:
    """Open the lane that goes with a folder; the one before it is fenced then."""
    address = server_of_process().fleet_of(folder)
    with connect(address) as connection:
        claim = membership.register(connection, "node", "", 1)
    return PostgresLane(address, claim, folder / "fleet.key")
