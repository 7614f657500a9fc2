"""One database server for all tests of a process that need one."""

import pytest

from tests.postgres_server import PostgresServer, shared_server


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    return shared_server()
