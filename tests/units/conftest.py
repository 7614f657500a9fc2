"""What tests of units share: locks of their own, and requests without the pace of real units."""

from collections.abc import Iterator

import pytest

from leverframe.units import client, unit_lock


@pytest.fixture(autouse=True, scope="session")
def own_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lock units in a folder of this process: tests beside it change units of the same MAC."""
    folder = tmp_path_factory.mktemp("locks")
    folder.chmod(0o1777)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_lock, "_SHARED", (folder,))
        yield


@pytest.fixture
def lift_pacing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send requests as fast as a twin answers; `test_client.py` keeps the pace of real units."""
    monkeypatch.setattr(client, "MAX_REQUESTS_PER_S", 10_000)
