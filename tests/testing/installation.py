"""A fresh environment with the wheels of this repository in it, as a user has it.

What the wheels depend on is linked from the environment of the tests: exactly that, by the
requirements of the wheels, and nothing of this clone.
"""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[2]
#: The folders that a distribution is built from.
SOURCES = (PROJECT, PROJECT / "packaging" / "pytest-leverframe")
#: What a user has beside the wheels.
BESIDE = ("pytest-xdist", "time-machine")
PATIENCE_S = 120


@dataclass(frozen=True)
class Installation:
    """A virtual environment in which the wheels are installed."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return self.folder / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run its Python, which knows nothing of the clone; return how it ended."""
        own = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return subprocess.run(
            [self.python, *arguments],
            cwd=cwd,
            env=own,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


def install_wheels(folder: Path) -> Installation:
    """Build both wheels and install them, offline, beside what they require."""
    wheels = [_build(source, folder / "wheels") for source in SOURCES]
    installation = Installation(folder / "environment")
    venv.create(installation.folder, with_pip=False, symlinks=True)
    required = {requirement for wheel in wheels for requirement in _requirements_of(wheel)}
    for found in _with_dependencies({*required, *BESIDE}):
        _link(found, installation.packages)
    pip = [sys.executable, "-m", "pip", "--python", str(installation.python), "install"]
    # Without --no-deps: what a wheel requires and is not there ends this.
    subprocess.run(
        [*pip, "--quiet", "--no-index", "--no-compile", *map(str, wheels)],
        check=True,
        timeout=PATIENCE_S,
    )
    return installation


def _build(source: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    before = set(folder.glob("*.whl"))
    subprocess.run(command, cwd=source, capture_output=True, check=True, timeout=PATIENCE_S)
    (wheel,) = set(folder.glob("*.whl")) - before
    return wheel


def _requirements_of(wheel: Path) -> list[str]:
    name, version, *_ = wheel.name.split("-")
    return PathDistribution(zipfile.Path(wheel, f"{name}-{version}.dist-info/")).requires or []


def _with_dependencies(requirements: Iterable[str]) -> list[Distribution]:
    """Return what these require on this machine, and what that requires, as far as it is here."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or name == "leverframe":
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found[name] = distribution(name)
            waiting += map(Requirement, found[name].requires or ())
    return list(found.values())


def _link(found: Distribution, packages: Path) -> None:
    """Link the files of a distribution into another environment, by their folders."""
    tops = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
    for top in tops - {"__pycache__"}:
        link = packages / top
        if not link.exists():
            link.symlink_to(found.locate_file(top))
