"""Locks of units in a folder of this test process: tests beside it change units of the same MAC."""

from collections.abc import Iterator

import pytest

from leverframe.units import unit_lock


@pytest.fixture(autouse=True, scope="session")
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("locks")
    folder.chmod(0o1777)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_lock, "_SHARED", (folder,))
        yield
