"""The tool that traces ways through the program: each of its ways still leads somewhere."""

import pytest

from tests.postgres_server import is_installed
from tools import hops


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("path", "begins"),
    [
        pytest.param(
            "fleet",
            "fleet send on two nodes",
            marks=pytest.mark.skipif(not is_installed(), reason="PostgreSQL is not installed"),
        ),
        ("unit", "unit plan"),
    ],
)
def test_command_is_traced_with_its_tree(path: str, begins: str) -> None:
    first, again = hops.PATHS[path](hops.PROJECT / "src")
    assert first[0] == f"{begins}, for the first time"
    assert again[0] == f"{begins}, again"
    # What a node does besides is traced, too, so neither is always the longer one.
    assert min(len(first[1]), len(again[1])) > 100
    assert again[1][0].function == "main"
    assert max(call.depth for call in again[1]) > 10
