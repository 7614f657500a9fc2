"""Check that every locked package has a wheel for each supported Python and machine.

Users who install Leverframe have no compiler: a package that is only published as source, or only
for another machine, would end `make setup` half-way. The names of the published wheels are in
requirements/wheels.txt, which `make lock` writes, so the check needs no index.

    python -m tools.locked_wheels
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
LISTS = ("install.txt", "run.txt", "package.txt", "test.txt")
#: The oldest release of each supported Python.
PYTHONS = ("3.11.2", "3.12.0", "3.13.0", "3.14.0")
MACHINES = ("x86_64", "aarch64")
#: The C library of Debian 12 and Raspberry Pi OS of the same age.
GLIBC_MINOR = 36

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+?)(?: ; (.+?))?(?: \\)?$", re.MULTILINE)


class Target(NamedTuple):
    """A Python on a machine."""

    python: str
    machine: str

    def __str__(self) -> str:
        return f"Python {self.python} on {self.machine}"

    @property
    def environment(self) -> dict[str, str]:
        """Return the values for the environment markers of a locked list."""
        return {
            "python_version": ".".join(self.python.split(".")[:2]),
            "python_full_version": self.python,
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "implementation_name": "cpython",
            "sys_platform": "linux",
            "os_name": "posix",
        }

    def tags(self) -> frozenset[Tag]:
        """Return the tags of all wheels that this Python can install."""
        version = [int(part) for part in self.python.split(".")[:2]]
        platforms = [f"manylinux_2_{minor}_{self.machine}" for minor in range(GLIBC_MINOR, 4, -1)]
        platforms += [f"manylinux2014_{self.machine}", f"manylinux1_{self.machine}"]
        platforms += [f"manylinux2010_{self.machine}", f"linux_{self.machine}"]
        interpreter = f"cp{version[0]}{version[1]}"
        return frozenset(
            [
                *cpython_tags(version, platforms=platforms),
                *compatible_tags(version, interpreter, platforms),
            ]
        )


TARGETS = [Target(python, machine) for python in PYTHONS for machine in MACHINES]


def wheel_tags(names: str) -> dict[tuple[str, str], set[Tag]]:
    """Return the tags of all wheels, by package and version."""
    found: dict[tuple[str, str], set[Tag]] = {}
    for name in names.split():
        package, version, _, tags = parse_wheel_filename(name)
        found.setdefault((package, str(version)), set()).update(tags)
    return found


def missing_wheels(locked: str, wheel_names: str) -> Iterator[str]:
    """Yield each package of a locked list that some target would have to build from source."""
    published = wheel_tags(wheel_names)
    accepted = {target: target.tags() for target in TARGETS}
    for name, version, marker in _PIN.findall(locked):
        tags = published.get((canonicalize_name(name), version), set())
        for target in TARGETS:
            if marker and not Marker(marker).evaluate(target.environment):
                continue
            if not tags & accepted[target]:
                yield f"{name} {version} has no wheel for {target}"


def main() -> int:
    """Check all locked lists; return 1 if a wheel is missing."""
    names = (REQUIREMENTS / "wheels.txt").read_text(encoding="utf-8")
    missing = [
        line
        for file in LISTS
        for line in missing_wheels((REQUIREMENTS / file).read_text(encoding="utf-8"), names)
    ]
    print("\n".join(missing) or f"Every locked package has a wheel for {len(TARGETS)} targets.")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
