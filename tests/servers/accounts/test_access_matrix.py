"""The table of who gets what is true, and knows every path and command there is."""

from pathlib import Path

import pytest

from leverframe.commands.table.matching import TABLE
from leverframe.servers.routes.endpoints import ENDPOINTS
from leverframe.servers.routes.pages import pages
from tests.boundary_profiles import NEWEST
from tests.servers.accounts.access_matrix import (
    CALLERS,
    groups,
    head,
    rows_behind_nginx,
    rows_in_process,
    written_down,
)

HOW_TO_WRITE = "write it anew with: python -m tests.servers.accounts.access_matrix"


@pytest.mark.thorough
async def test_everybody_gets_what_the_page_about_security_says() -> None:
    expected = [*head(), *await rows_in_process()]
    assert written_down()[: len(expected)] == expected, HOW_TO_WRITE


@pytest.mark.needs_program("nginx")
def test_behind_nginx_everybody_gets_what_the_page_about_security_says(tmp_path: Path) -> None:
    assert written_down()[2 + len(CALLERS) :] == rows_behind_nginx(tmp_path), HOW_TO_WRITE


def test_no_path_and_no_command_is_missing_in_the_table() -> None:
    asked = [member.target for group in groups() for member in group.members]
    paths = {target.partition("?")[0] for target in asked}
    assert {endpoint.path for endpoint in ENDPOINTS} | set(pages()) <= paths
    commands = [row for row in TABLE if row.form.items and row.is_offered(NEWEST)]
    assert len([target for target in asked if "?" in target]) == len(commands) + 1
