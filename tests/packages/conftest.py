"""Packages of this commit, and clean Debians to install them into."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe import __version__
from tests.packages.root import Root, run_root
from tools.deb import Deb, build_deb, build_wheel, install_libraries
from tools.package_trials import RELEASES, target_of, wheels_of
from tools.release import PROJECT, commit_time

BUILT_AT = commit_time(PROJECT)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("built") / "wheel", BUILT_AT)


@pytest.fixture(params=RELEASES, scope="module")
def release(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def debs(release: str, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two versions of the package: an earlier one, and the present one."""
    folder, target = tmp_path_factory.mktemp(f"debs-{release}"), target_of(release)
    with pytest.MonkeyPatch.context() as patch:
        # Everything was downloaded before the tests.
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(wheels_of(release)))
        install_libraries(target, folder / "libraries")
    return [
        build_deb(Deb(target, version), wheel, folder / "libraries", folder, BUILT_AT, "none")
        for version in ("0.0.1", __version__)
    ]


@pytest.fixture(scope="module")
def root(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    """A clean Debian with wheels in its home."""
    folder = tmp_path_factory.mktemp(release) / "root"
    with run_root(release, folder) as root:
        shutil.copytree(wheels_of(release), root.path("/root/wheels"))
        yield root
    shutil.rmtree(folder)
