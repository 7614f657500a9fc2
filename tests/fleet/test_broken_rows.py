"""A node on a file of its own starts without controllers whose rows are broken, and names them."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from leverframe.fleet.serve import start_controllers
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from tests.cases import for_each
from tests.fleet.loop_node import LoopNode, loop_node

COUNT, BROKEN = 9, 4
NAMES = {f"c-{number}" for number in range(1, COUNT + 1)}


@asynccontextmanager
async def node_on(folder: Path) -> AsyncIterator[LoopNode]:
    async with loop_node(SqliteLane(folder / "fleet.db", folder / "fleet.key")) as node:
        yield node


@for_each(
    ("statement", "why"),
    [
        (
            f"UPDATE kept SET value = '7x' WHERE controller = {BROKEN} AND name = 'snmp.boots'",
            "The stored value of snmp.boots cannot be read",
        ),
        (
            f"UPDATE kept SET value = x'22ff22' WHERE controller = {BROKEN}"
            " AND name = 'snmp.boots'",
            "'utf-8' codec can't decode",
        ),
        (
            f'UPDATE kept SET value = \'{{"name":"c-{BROKEN}","tags":5}}\''
            f" WHERE controller = 0 AND name = 'controller.{BROKEN}'",
            "The record of the controller cannot be read",
        ),
    ],
)
async def test_broken_row_keeps_only_its_own_controller_from_starting(
    tmp_path_factory: pytest.TempPathFactory, statement: str, why: str
) -> None:
    folder = tmp_path_factory.mktemp("node")
    async with node_on(folder) as node:
        await node.post("add", name="c-{n}", count=COUNT)
    with closing(sqlite3.connect(folder / "fleet.db")) as connection, connection:
        assert connection.execute(statement).rowcount == 1
    async with node_on(folder) as node:
        (sentence,) = await start_controllers(node.web, [], as_json=False)
        assert sentence.startswith(f"c-{BROKEN} failed to start: ")
        assert why in sentence
        assert {*node.node.members} == NAMES - {f"c-{BROKEN}"}


async def test_controller_with_a_broken_record_keeps_its_number_until_it_is_removed(
    tmp_path: Path,
) -> None:
    async with node_on(tmp_path) as node:
        await node.post("add", name="c-{n}", count=COUNT)
    with closing(sqlite3.connect(tmp_path / "fleet.db")) as connection, connection:
        where = f"WHERE controller = 0 AND name = 'controller.{COUNT}'"
        connection.execute(f"UPDATE kept SET value = '[]' {where}")
    async with node_on(tmp_path) as node:
        (sentence,) = await start_controllers(node.web, [], as_json=False)
        assert sentence.startswith(f"controller-{COUNT} failed to start: ")
        await node.post("add", name="new")
        assert node.member("new").number == COUNT + 1
        assert (await node.post("remove", name=f"controller-{COUNT}"))["done"] == 1
        assert node.node.registry.unreadable == {}
