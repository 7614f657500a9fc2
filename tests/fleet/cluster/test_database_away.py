"""A database that is away for longer than a lease: what is refused, how, and that it goes on."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.members import Member
from leverframe.servers.http.messages import Reply, Request
from tests.fleet.cluster.nodes import Cluster, cluster_on
from tests.hardware.waiting import until
from tests.postgres_server import PostgresServer, postgres_server

CHANGE, SWITCH, READ = "/stm.cgi?sname=other", "/outs.cgi?out0=1", "/outs.cgi"
#: Of 3 s, for tests.
LEASE_S = 1.0


@pytest.fixture
async def away(tmp_path: Path) -> AsyncIterator[tuple[PostgresServer, Cluster]]:
    with postgres_server() as server:
        async with cluster_on(server.new_fleet(), tmp_path) as cluster:
            for name in ("a", "b"):
                member = await cluster.join(name)
                member.lease._lease_s = LEASE_S
            await cluster.add("a", "one", "two")
            await asyncio.to_thread(server.stop)
            await until(lambda: all(one.is_in_doubt for one in leases(cluster)))
            yield server, cluster


def leases(cluster: Cluster) -> list[NodeLease]:
    return [one.lease for one in cluster.members.values()]


async def asked(member: Member, target: str) -> Reply:
    path, _, query = target.partition("?")
    request = Request("GET", path, query, {}, b"", "127.0.0.1")
    answer: Any = member.entrance.handler(request)
    reply: Reply = await answer if inspect.isawaitable(answer) else answer
    return reply


async def test_changes_are_507_switching_503_and_it_goes_on_without_a_restart(
    away: tuple[PostgresServer, Cluster],
) -> None:
    server, cluster = away
    members = [cluster.member(name) for name in ("one", "two")]
    epochs = [one._claim.epoch for one in cluster.members.values()]
    for member in members:
        for target, status in ((CHANGE, 507), (SWITCH, 503)):
            refused = await asked(member, target)
            assert refused.status == status
            assert b"Nothing was changed" in refused.body
        read = await asked(member, READ)
        assert (read.status, dict(read.headers)["Warning"][:3]) == (200, "110")
        assert b"<out>000000</out>" in read.body
    assert "Nothing was changed" in await cluster.asked["a"].refused(
        507, "send", command="stm.cgi?sname=other"
    )
    await asyncio.to_thread(server.start)
    await until(lambda: not any(one.is_in_doubt for one in leases(cluster)))
    for member in members:
        for target in (CHANGE, SWITCH):
            assert (await asked(member, target)).status == 200
    # The very same ones: nothing has moved, and nobody was declared dead.
    assert [cluster.member(name) for name in ("one", "two")] == members
    assert [one._claim.epoch for one in cluster.members.values()] == epochs
