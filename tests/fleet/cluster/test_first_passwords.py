"""Passwords where nodes share a database: the first ones, and what a node's folder says of them."""

from pathlib import Path

import pytest

from tests.fleet.test_node_passwords import CELLAR, EVERYWHERE, running
from tests.postgres_server import PostgresServer


async def test_who_was_open_gets_a_password_when_strangers_can_reach_a_node_of_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], postgres: PostgresServer
) -> None:
    cluster = f'{CELLAR}[cluster]\nlive_state_every = 1\ndatabase = "{postgres.new_fleet()}"\n'
    async with running(tmp_path, capsys, cluster) as node:
        assert await node.asked(None, "cellar") == 200
    async with running(tmp_path, capsys, EVERYWHERE + cluster) as node:
        own = node.password("Sign in as admin")
        assert "this once; `leverframe fleet account` makes further accounts." in node.printed
        assert await node.asked(own) == 200
        password = node.password("The administrator of cellar")
        assert await node.asked(None, "cellar") == 401
        assert await node.asked(password, "cellar") == 200
    async with running(tmp_path, capsys, EVERYWHERE + cluster) as node:
        assert "password" not in node.printed
        assert await node.asked(password, "cellar") == 200
