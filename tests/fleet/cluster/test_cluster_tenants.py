"""Tenants of nodes on a real database: known everywhere, and checked by the database itself."""

import re
from pathlib import Path

import psycopg
import pytest

from leverframe.core.profile import Profile
from leverframe.fleet.cluster.database_setup import NodeIdentity, open_cluster
from leverframe.fleet.member import NewController
from leverframe.fleet.records import FleetAccount, MemberRecord, NoSuchTenant, TenantRecord
from leverframe.interface.table.refusals import Conflict
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import PLACE, cluster_on
from tests.fleet.tenant_fleet import OPERATOR, TenantFleet
from tests.fleet.test_tenant_walk import ACME, ZULU, busy, compare
from tests.postgres_server import PostgresServer

#: When a controller was moved depends on their number: its journal and counters show it.
HAPPENED = re.compile(r'"happened":\[[^]]*\]| [\d.e+-]+$', re.MULTILINE)
ANNA = FleetAccount("anna", "$argon2id$1", "user", "acme")


def of(tenant: str, *names: str) -> list[NewController]:
    return [NewController(MemberRecord(name, tenant=tenant), Profile()) for name in names]


async def test_all_nodes_know_tenants_and_takeovers_keep_owners(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    database = postgres.new_fleet()
    async with cluster_on(database, tmp_path) as cluster:
        for name in ("a", "b"):
            await cluster.join(name)
        first, second = cluster.nodes["a"].registry, cluster.nodes["b"].registry
        await first.put_tenant(TenantRecord("acme", 7))
        await first.put_account(ANNA)
        await until(lambda: second.accounts == {"anna": ANNA})
        assert second.tenants == {"acme": TenantRecord("acme", 7)}
        await cluster.nodes["b"].add(of("acme", "one", "two"))
        await cluster.wait_for_counts(1, 1)
        assert await first.count_of("acme") == 2
        # A name is unique over tenants and nodes, and the message names neither.
        (there,) = cluster.names("b")
        with pytest.raises(Conflict, match="One of these names belongs to a controller already"):
            await cluster.nodes["a"].add(of("", there))
        # What a node of an earlier version writes leaves the tenant as it is.
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("UPDATE controller SET record = %s WHERE name = %s",
                               (f'{{"name": "{there}", "tags": ["old"]}}', there))  # fmt: skip
        await cluster.leave("b")
        await cluster.wait_for_counts(2)
        member = cluster.nodes["a"].members[there]
        assert (member.record.tenant, member.record.tags) == ("acme", ("old",))
        await cluster.nodes["a"].tag([member], ["new"], [])
        await cluster.nodes["a"].give([member], "")
        assert await first.count_of("acme") == 1


async def test_database_refuses_changes_that_another_node_made_impossible(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        await cluster.join("a")
        node = cluster.nodes["a"]
        registry = node.registry
        await registry.put_tenant(TenantRecord("acme"))
        await registry.put_account(ANNA)
        with pytest.raises(Conflict, match="acme has controllers or accounts"):
            await registry.remove_tenant("acme")
        await registry.remove_account("anna")
        await registry.remove_tenant("acme")
        assert registry.tenants == {}
        # This node does not know yet that the tenant is gone, or that the name is taken.
        registry.tenants = {"acme": TenantRecord("acme")}
        with pytest.raises(Conflict, match="This tenant no longer exists"):
            await node.add(of("acme", "one"))
        assert node.members == {}
        with pytest.raises(NoSuchTenant):
            await registry.put_account(ANNA)
        await registry.put_account(FleetAccount("anna", "$argon2id$2", "user"))
        registry.accounts = {}
        with pytest.raises(Conflict, match="There is an account anna already"):
            await registry.put_account(FleetAccount("anna", "$argon2id$3", "user"))
        await registry.load_accounts()
        assert registry.accounts["anna"].password == "$argon2id$2"
        await registry.put_account(FleetAccount("anna", "$argon2id$4", "user"))
        assert registry.accounts["anna"].password == "$argon2id$4"


async def test_node_reads_accounts_before_it_serves(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    database = postgres.new_fleet()
    async with cluster_on(database, tmp_path) as cluster:
        await cluster.join("a")
        await cluster.nodes["a"].registry.put_tenant(TenantRecord("acme"))
        await cluster.nodes["a"].registry.put_account(ANNA)
        opened = await open_cluster(database, NodeIdentity("b", PLACE), tmp_path / "fleet.key")
        assert opened.registry.accounts == {"anna": ANNA}
        opened.registry.close()
        await opened.lane.close()


@pytest.mark.thorough
async def test_tenant_answers_do_not_depend_on_other_tenants_on_several_nodes(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with (
        cluster_on(postgres.new_fleet(), tmp_path) as first,
        cluster_on(postgres.new_fleet(), tmp_path) as second,
    ):
        fleets = []
        for cluster, tenants in ((first, [ACME]), (second, [ACME, ZULU])):
            for name in ("a", "b"):
                await cluster.join(name)
            # The operator's own; when they are shared out, the nodes know of each other.
            await cluster.add("a", "house-1", "house-2")
            fleet = TenantFleet(cluster.asked["a"], cluster.member)
            await fleet.add_account("oscar", "", "administrator")
            for name, controllers, tag in tenants:
                await fleet.add_tenant(name, *controllers, tag=tag)
            fleets.append(fleet)
            for controller, node in (("acme-1", "a"), ("acme-2", "b")):
                await fleet.post(OPERATOR, f"move?name={controller}&node={node}")
        alone, shared = fleets
        await busy(shared)
        for cluster, counts in ((first, [2, 2]), (second, [3, 4])):
            await until(
                lambda of=cluster, counts=counts: (  # type: ignore[misc]
                    sorted(of.counts()) == counts
                    and "acme-1" in of.names("a")
                    and "acme-2" in of.names("b")
                )
            )
        await compare(alone, shared, "acme-chief", HAPPENED)
