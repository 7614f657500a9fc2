"""One database server for all tests of a process that need one."""

import pytest

from tests.postgres_server import PostgresServer, server_of_process


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    return server_of_process()
