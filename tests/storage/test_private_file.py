"""Files for their owner alone: whole, or as they were before."""

import resource
import stat
from pathlib import Path

import pytest

from leverframe.storage.private_files import write_private

OLD, NEW = b"old key", b"new key" * 10


def test_file_is_replaced_whole_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(OLD)
    write_private(path, NEW)
    assert path.read_bytes() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_file_that_only_a_part_fits_of_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    """The system call takes what fits and says how much that was."""
    path = tmp_path / "key"
    path.write_bytes(OLD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(NEW) // 2, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_private(path, NEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == OLD
    write_private(path, NEW)
    assert path.read_bytes() == NEW
