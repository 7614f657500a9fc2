"""A database whose disk is full: changes are refused with the cause, then resume."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from leverframe.fleet.bulk import MemberResult, send
from leverframe.fleet.jobs import job
from leverframe.fleet.owners import DEADLINES
from leverframe.storage.lanes.postgres_schema import migrate
from tests.fleet.cluster.nodes import Cluster, cluster_on, new
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

_SIZE = "24m"
NEW_NAME = "stm.cgi?sname=new"
FULL = "The disk of the database is full. Nothing was changed; try again when it has room."


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of a few megabytes, which requires root and a kernel that lets it mount."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = Path(tempfile.mkdtemp(prefix="pgd"))
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE},mode=755", "tmpfs", str(folder)]
        if subprocess.run(mount, check=False, capture_output=True, timeout=PATIENCE_S).returncode:
            pytest.skip("a small disk cannot be mounted here")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=PATIENCE_S)
    finally:
        with suppress(OSError):
            folder.rmdir()


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler


async def rename_outcome(cluster: Cluster, name: str) -> MemberResult:
    members = list(cluster.nodes["a"].members.values())
    report = await send(members, f"stm.cgi?sname={name}", "", dry_run=False, all_or_none=False)
    return report.results[0]


async def wait_until_held_up(cluster: Cluster, rollout: str) -> dict[str, Any]:
    """Start a roll-out, and wait until it reports why it waits."""
    await cluster.asked["a"].post("rollout/start", id=rollout)
    return await becomes(cluster, rollout, lambda it: it["why"] is not None)


async def becomes(
    cluster: Cluster, rollout: str, is_so: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    report: dict[str, Any] = {}
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                report = await cluster.asked["a"].get("rollout", id=rollout)
                if is_so(report):
                    return report
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"The roll-out stays like this: {report}")


async def test_changes_are_refused_while_the_disk_of_the_database_is_full(
    postgres: PostgresServer,
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job, "AGAIN_S", 0.1)
    monkeypatch.setitem(DEADLINES, "step", replace(DEADLINES["step"], hold_s=0.5))
    place = small_disk / "tables"
    place.mkdir()
    shutil.chown(place, "postgres", "postgres")
    address = postgres.address("small")
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{place}'".encode())
        connection.execute("CREATE DATABASE small TEMPLATE template0 TABLESPACE small")
    try:
        migrate(address)
        async with cluster_on(address, tmp_path) as cluster:
            await cluster.join("a")
            await cluster.nodes["a"].add(new("c-1"))
            assert (await rename_outcome(cluster, "before")).status == 200
            planned = await cluster.asked["a"].post("rollout/plan", command=NEW_NAME, groups="rest")
            filler = fill(small_disk)
            # The very first snapshot needs a new page.
            assert await cluster.asked["a"].expect_refusal(507, "snapshot", label="full") == FULL
            rollout = await wait_until_held_up(cluster, planned["job"]["id"])
            assert (rollout["why"], rollout["done"]) == (FULL, 0)
            # Existing pages have room for some changes.
            for number in range(2000):
                answer = await rename_outcome(cluster, f"full{number}")
                if answer.status != 200:
                    break
            assert answer.status == 507
            assert answer.detail == FULL
            filler.unlink()
            assert (await rename_outcome(cluster, "after")).status == 200
            # It resumes automatically.
            rollout = await becomes(cluster, rollout["id"], lambda it: it["status"] == "finished")
            assert (rollout["why"], rollout["done"]) == (None, 1)
            member = cluster.nodes["a"].members["c-1"]
            assert member.controller.engine.settings.name == "new"
            assert (await cluster.asked["a"].post("snapshot", label="full"))["done"] == 1
    finally:
        with psycopg.connect(postgres.address(), autocommit=True) as connection:
            connection.execute("DROP DATABASE small WITH (FORCE)")
            connection.execute("DROP TABLESPACE small")
