"""Several controllers on one machine: one file, one folder and one port each."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.host.command_line.test_run import fetch, running


@pytest.mark.thorough
def test_controllers_with_their_own_files_share_nothing(tmp_path: Path) -> None:
    with ExitStack() as stack:
        addresses = []
        for name in ("cellar", "attic"):
            path = tmp_path / f"{name}.toml"
            path.write_text(f'data = "{tmp_path / name}"\nsw = "1.49"\nhw = "3.5"\n')
            addresses.append(stack.enter_context(running("--config", str(path))))
        fetch(f"{addresses[0]}/stm.cgi?oname=0Lamp")
        statuses = [fetch(f"{address}/json/all.json") for address in addresses]
        assert len({re.findall(rb'"mac":"[^"]+"', status)[0] for status in statuses}) == 2
        assert b'"Lamp"' in fetch(f"{addresses[0]}/api/settings")
        assert b'"Lamp"' not in fetch(f"{addresses[1]}/api/settings")
