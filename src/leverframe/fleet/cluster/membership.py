"""The life of a node among its peers, as database statements: every function is one step.

There is no leader. Every node sends heartbeats, watches its peers, declares silent peers dead and
takes free controllers up to its share. PostgreSQL orders these steps: a declaration of death waits
for the batch that is being written, and a later batch finds another epoch and writes nothing.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import psycopg
from msgspec import Struct
from msgspec.structs import asdict, replace

from leverframe import __version__
from leverframe.fleet.cluster.lease import SeenNode
from leverframe.fleet.other_nodes import DatabaseReport
from leverframe.host.controller.hand_over import SavedLive
from leverframe.storage.lanes.postgres_connection import Connection
from leverframe.storage.lanes.postgres_lane import Claim
from leverframe.storage.lanes.postgres_schema import ALIVE

# The fair share of controllers of each living node, by capacity, in whole numbers.


def fair_shares(count: int, capacities: Mapping[str, int]) -> dict[str, int]:
    """Share out a number of controllers; every node computes the same shares from the same rows."""
    total = sum(capacities.values())
    if total == 0:
        return dict.fromkeys(capacities, 0)
    shares = {name: count * capacity // total for name, capacity in capacities.items()}
    left = count - sum(shares.values())
    # The nodes that lost most by rounding down get the remainder; ties are decided by name.
    by_loss = sorted(capacities, key=lambda name: (-(count * capacities[name] % total), name))
    for name in by_loss[:left]:
        shares[name] += 1
    return shares


# The live state of controllers in the database: written by their node, read by the next one.
#
# The age of live state is measured only by the clock of the database, so that no clocks are
# compared. A writer locks the row of its node. So a declaration of death waits for the writer, and
# a node that was declared dead writes and reads nothing.

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
    # After the clock was set back, the age may be negative.
    return {one: SavedLive(bytes(data), max(0.0, age), as_of) for one, data, age in rows}


#: The channel on which nodes notify each other when controllers move.
CHANNEL = "leverframe_controllers"
#: Replaces the session of a node that was declared dead before its first beat.
_NEVER_BEAT = -1
#: Prefix of the session name of a node; the version follows.
_PROGRAM = "leverframe "


class Placed(Struct, frozen=True):
    """A controller, its node (None for no node), and the node that it is pinned to."""

    number: int
    name: str
    node: str | None
    wanted: str | None = None
    #: Its tenant; empty for the operator alone.
    tenant: str = ""


class ClaimedJob(Struct, frozen=True):
    """A job, and the life of the node that runs it."""

    number: int
    id: str
    node: str
    epoch: int


def register(connection: Connection, name: str, address: str, capacity: int) -> Claim:
    """Start a life of this node; late writes of an earlier life have no effect.

    A node that was restarted before it was declared dead still has its controllers. A drained node
    stays empty in its next lives.
    """
    with connection.transaction():
        # Batches that an earlier life is writing come first.
        connection.execute("SELECT 1 FROM node WHERE name = %s FOR UPDATE", (name,))
        row = connection.execute(
            "INSERT INTO node (name, epoch, is_alive, address, session, capacity, carries)"
            # The lane of a forgotten node is still there.
            " SELECT %(name)s, 1 + coalesce(max(epoch), 0), true, %(address)s, 0, %(capacity)s,"
            " %(capacity)s FROM lane WHERE node = %(name)s"
            " ON CONFLICT (name) DO UPDATE SET epoch = node.epoch + 1, is_alive = true,"
            " beat = node.beat + 1, address = EXCLUDED.address, session = 0,"
            " capacity = CASE WHEN node.is_drained THEN 0 ELSE EXCLUDED.capacity END,"
            " carries = EXCLUDED.carries RETURNING epoch",
            {"name": name, "address": address, "capacity": capacity},
        ).fetchone()
        assert row is not None
        epoch = int(row[0])
        connection.execute(
            "INSERT INTO lane (node, epoch, batch) VALUES (%s, %s, 0)"
            " ON CONFLICT (node) DO UPDATE SET epoch = EXCLUDED.epoch",
            (name, epoch),
        )
        notify_nodes(connection)
    return Claim(name, epoch)


def announce(connection: Connection, claim: Claim, address: str) -> None:
    """Announce the inner address of this node to its peers."""
    connection.execute(
        "UPDATE node SET address = %s WHERE name = %s AND epoch = %s",
        (address, claim.node, claim.epoch),
    )


class LifeRow(Struct, frozen=True):
    """The counters of a node in the database."""

    epoch: int
    beat: int
    batch: int


def beat(connection: Connection, claim: Claim) -> LifeRow | None:
    """Increment the beat; return None if this life is over."""
    row = connection.execute(
        "UPDATE node SET beat = beat + 1, session = pg_backend_pid() FROM lane"
        " WHERE name = %s AND node.epoch = %s AND is_alive AND lane.node = name"
        " RETURNING node.epoch, beat, batch",
        (claim.node, claim.epoch),
    ).fetchone()
    return None if row is None else LifeRow(*row)


def life_of(connection: Connection, name: str) -> LifeRow | None:
    """Read the counters of a node, regardless of its life; None if the node is unknown."""
    row = connection.execute(
        "SELECT node.epoch, beat, batch FROM node JOIN lane ON lane.node = name WHERE name = %s",
        (name,),
    ).fetchone()
    return None if row is None else LifeRow(*row)


def read_nodes(connection: Connection) -> list[SeenNode]:
    """Read all nodes, and whether the database still has their sessions."""
    rows = connection.execute(
        "SELECT name, node.epoch, beat, is_alive,"
        # Before its first beat, the session of a node is unknown.
        " session = 0 OR pid IS NOT NULL, address, capacity, is_drained, coalesce(batch, 0),"
        " coalesce(application_name, ''), NOT is_alive AND session = 0 FROM node"
        " LEFT JOIN pg_stat_activity ON pid = session LEFT JOIN lane ON lane.node = name"
        " ORDER BY name"
    )
    found = [SeenNode(*row) for row in rows]
    return [replace(one, version=version_in(one.version)) for one in found]


def name_session(connection: Connection) -> None:
    """Name the session, for the peers and the operator of the database."""
    query = "SELECT set_config('application_name', %s, false)"
    connection.execute(query, (f"{_PROGRAM}{__version__}",))


def version_in(application_name: str) -> str:
    """Return the version of the program from the name of a session; empty for other programs."""
    if not application_name.startswith(_PROGRAM):
        return ""
    return application_name.removeprefix(_PROGRAM)


def about_database(connection: Connection) -> DatabaseReport:
    """Read the versions of server and schema, and whether a standby confirms writes.

    The number of standbys is None if the database user may not see them.
    """
    row = connection.execute(
        "SELECT (SELECT max(number) FROM migration),"
        " current_setting('synchronous_standby_names'),"
        " count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')),"
        " count(*) FILTER (WHERE sync_state IS NULL) FROM pg_stat_replication"
    ).fetchone()
    assert row is not None
    schema, names, standbys, hidden = row
    number = connection.info.server_version
    return DatabaseReport(
        server=f"{number // 10_000}.{number % 10_000}",
        schema=schema,
        standby=names,
        standbys=None if hidden else standbys,
    )


def declare_dead(connection: Connection, node: SeenNode) -> bool:
    """End a node's life unless its row has changed; return whether this call ended it."""
    with connection.transaction():
        # This waits for records, live state and history that are being written.
        as_seen = connection.execute(
            "SELECT 1 FROM node WHERE name = %s AND epoch = %s AND beat = %s AND is_alive"
            " FOR UPDATE",
            (node.name, node.epoch, node.beat),
        )
        if as_seen.fetchone() is None:
            return False
        query = (
            "UPDATE node SET is_alive = false, epoch = epoch + 1,"
            " session = CASE session WHEN 0 THEN %s ELSE session END WHERE name = %s"
        )
        connection.execute(query, (_NEVER_BEAT, node.name))
        # This waits for a batch that is being written; later batches write nothing.
        connection.execute(
            "UPDATE lane SET epoch = %s WHERE node = %s", (node.epoch + 1, node.name)
        )
        connection.execute("UPDATE controller SET node = NULL WHERE node = %s", (node.name,))
        notify_nodes(connection)
    return True


def capacities_of(nodes: Iterable[SeenNode]) -> dict[str, int]:
    """Return the capacity of each node that may have controllers."""
    return {one.name: one.capacity for one in nodes if one.is_alive and one.capacity}


def claim_free(connection: Connection, claim: Claim, nodes: Sequence[SeenNode]) -> list[int]:
    """Take free controllers up to the fair share, and all free controllers pinned here."""
    capacities = capacities_of(nodes)
    if claim.node not in capacities:
        return []
    with connection.transaction():
        # This also frees controllers that a node took at the moment of its death.
        connection.execute(
            "WITH dead AS (SELECT name FROM node WHERE NOT is_alive FOR SHARE)"
            " UPDATE controller SET node = NULL WHERE node IN (SELECT name FROM dead)"
        )
        counted = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE node = %(node)s),"
            " count(*) FILTER (WHERE node IS NULL AND wanted = %(node)s) FROM controller",
            {"node": claim.node},
        ).fetchone()
        assert counted is not None
        count, own, wanted = counted
        room = fair_shares(count, capacities)[claim.node] - own
        rows = connection.execute(
            "UPDATE controller SET node = %(node)s WHERE number IN ("
            " SELECT number FROM controller WHERE node IS NULL"
            " AND (wanted = %(node)s OR wanted IS NULL OR wanted <> ALL(%(alive)s))"
            " ORDER BY (wanted = %(node)s) DESC NULLS LAST, number"
            " LIMIT %(room)s FOR UPDATE SKIP LOCKED)"
            " AND EXISTS (SELECT 1 FROM node"
            "  WHERE name = %(node)s AND epoch = %(epoch)s AND is_alive)"
            " RETURNING number",
            {**asdict(claim), "alive": list(capacities), "room": max(room, wanted, 0)},
        ).fetchall()
        if rows:
            notify_nodes(connection)
    return sorted(row[0] for row in rows)


#: Selects jobs that were run in a life that is over.
_IS_FREE = (
    "NOT EXISTS (SELECT 1 FROM node WHERE node.name = job.node AND node.is_alive"
    " AND job.epoch IN (0, node.epoch))"
)


def claim_jobs(connection: Connection, claim: Claim, nodes: Iterable[SeenNode]) -> None:
    """Take over the jobs of dead nodes; a drained node leaves these to its peers."""
    capacities = capacities_of(nodes)
    if capacities and claim.node not in capacities:
        return
    with connection.transaction():
        # The first statement may return a job that another node has just taken: PostgreSQL does not
        # check the job's node again. The second statement checks it, and a locked row does not
        # change.
        locked = connection.execute(
            f"SELECT number FROM job WHERE {_IS_FREE} FOR UPDATE SKIP LOCKED"  # noqa: S608
        ).fetchall()
        if not locked:
            return
        taken = connection.execute(
            "UPDATE job SET node = %(node)s, epoch = %(epoch)s"  # noqa: S608
            f" WHERE number = ANY(%(numbers)s) AND {_IS_FREE} AND EXISTS (SELECT 1 FROM node"
            "  WHERE name = %(node)s AND epoch = %(epoch)s AND is_alive)",
            {**asdict(claim), "numbers": [number for (number,) in locked]},
        )
        if taken.rowcount:
            notify_nodes(connection)


def jobs(connection: Connection) -> list[ClaimedJob]:
    """Read which node runs which job."""
    query = "SELECT number, id, node, epoch FROM job ORDER BY number"
    return [ClaimedJob(*row) for row in connection.execute(query)]


def holder_of(connection: Connection, id: str) -> str | None:
    """Read which node runs a job; "" for none at present, None for no such job."""
    row = connection.execute(
        f"SELECT CASE WHEN {_IS_FREE} THEN '' ELSE node END FROM job WHERE id = %s",  # noqa: S608
        (id,),
    ).fetchone()
    return None if row is None else str(row[0])


def release(
    connection: Connection,
    claim: Claim,
    numbers: Sequence[int],
    live: Mapping[int, SavedLive] = MappingProxyType({}),
) -> None:
    """Release controllers that were stopped cleanly, with the live state to resume from."""
    with connection.transaction():
        if live:
            put_live(connection, claim, live)
        connection.execute(
            f"WITH alive AS ({ALIVE}) UPDATE controller SET node = NULL FROM alive"  # noqa: S608
            " WHERE node = alive.name AND number = ANY(%(numbers)s)",
            {**asdict(claim), "numbers": list(numbers)},
        )
        notify_nodes(connection)


def want(connection: Connection, names: Sequence[str], node: str | None) -> str | None:
    """Pin controllers to a node, or unpin them.

    If no controller has one of the names, change nothing and return that name.
    """
    asked = list(names)
    with connection.transaction():
        rows = connection.execute(
            "UPDATE controller SET wanted = %s WHERE name = ANY(%s) RETURNING name", (node, asked)
        ).fetchall()
        known = {name for (name,) in rows}
        missing = next((name for name in asked if name not in known), None)
        if missing is not None:
            raise psycopg.Rollback
        notify_nodes(connection)
    return missing


def set_drained(connection: Connection, name: str, *, is_drained: bool) -> None:
    """Drain a node, in its next lives too, or let it accept controllers again."""
    with connection.transaction():
        connection.execute(
            "UPDATE node SET is_drained = %(is_drained)s,"
            " capacity = CASE WHEN %(is_drained)s THEN 0 ELSE carries END WHERE name = %(name)s",
            {"name": name, "is_drained": is_drained},
        )
        notify_nodes(connection)


def forget(connection: Connection, name: str) -> bool:
    """Remove a node that is not alive; return whether this call removed it.

    Its lane stays: a later life under this name must not have the epoch of an earlier life.
    """
    with connection.transaction():
        removed = connection.execute("DELETE FROM node WHERE name = %s AND NOT is_alive", (name,))
        if not removed.rowcount:
            return False
        connection.execute("UPDATE controller SET wanted = NULL WHERE wanted = %s", (name,))
        notify_nodes(connection)
    return True


def resign(connection: Connection, claim: Claim) -> None:
    """End this life cleanly: all its controllers are free immediately.

    The session of the node is cleared, which shows its peers that it was not declared dead.
    """
    with connection.transaction():
        row = connection.execute(
            "SELECT beat FROM node WHERE name = %s AND epoch = %s AND is_alive FOR UPDATE",
            (claim.node, claim.epoch),
        ).fetchone()
        if row is not None:
            declare_dead(connection, SeenNode(claim.node, claim.epoch, row[0]))
            connection.execute("UPDATE node SET session = 0 WHERE name = %s", (claim.node,))


def read_places(connection: Connection) -> list[Placed]:
    """Read which node has which controller."""
    rows = connection.execute(
        "SELECT number, name, node, wanted, coalesce(tenant, '') FROM controller ORDER BY number"
    )
    return [Placed(*row) for row in rows]


def notify_nodes(connection: Connection) -> None:
    """Notify all nodes that the assignment of controllers has changed."""
    connection.execute("SELECT pg_notify(%s, '')", (CHANNEL,))
