"""The table of who gets what is true, and knows every path and command there is."""

from pathlib import Path

import pytest

from leverframe.interface.table.lookup import TABLE
from leverframe.server.routes.endpoints import ENDPOINTS
from leverframe.server.routes.pages import pages
from tests.boundary_profiles import NEWEST
from tests.server.accounts.access_matrix import (
    CALLERS,
    groups,
    head,
    read_page,
    rows_behind_nginx,
    rows_in_process,
)

HOW_TO_WRITE = "rewrite it with: python -m tests.server.accounts.access_matrix"


@pytest.mark.thorough
async def test_every_role_gets_what_the_security_page_says() -> None:
    expected = [*head(), *await rows_in_process()]
    assert read_page()[: len(expected)] == expected, HOW_TO_WRITE


@pytest.mark.needs_program("nginx")
def test_behind_nginx_every_role_gets_what_the_security_page_says(tmp_path: Path) -> None:
    assert read_page()[2 + len(CALLERS) :] == rows_behind_nginx(tmp_path), HOW_TO_WRITE


def test_no_path_and_no_command_is_missing_in_the_table() -> None:
    asked = [member.target for group in groups() for member in group.members]
    paths = {target.partition("?")[0] for target in asked}
    assert {endpoint.path for endpoint in ENDPOINTS} | set(pages()) <= paths
    commands = [row for row in TABLE if row.form.items and row.is_offered(NEWEST)]
    assert len([target for target in asked if "?" in target]) == len(commands) + 1
