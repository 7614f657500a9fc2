"""Install the packages of this commit into clean Debians: `tests/packages`, after its downloads.

    python -m tools.package_trials [ARGUMENTS OF PYTEST]

This needs root, Debian's mirror and the package index on its first run, which fills build/packages.
The tests themselves have no network. The exit status is that of the tests.
"""

import os
import platform
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.deb import choose_target, pip_for, write_locked_list
from tools.kernel import image
from tools.locked_wheels import Target
from tools.release import PROJECT

TESTS = Path("tests/packages")
BUILD = PROJECT / "build" / "packages"
#: Releases of Debian, and their Pythons; forky is not released yet.
RELEASES = {"bookworm": "3.11", "trixie": "3.13", "forky": "3.14"}
MIRROR = os.environ.get("DEBIAN_MIRROR", image.MIRROR)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
INSIDE = "python3,python3-venv,adduser"


def target_of(release: str) -> Target:
    return choose_target(RELEASES[release], platform.machine())


def archive_of(release: str) -> Path:
    """Return the place of a clean release with Python."""
    return BUILD / f"{release}.tar"


def wheels_of(release: str) -> Path:
    """Return the folder of all locked wheels for a release."""
    return BUILD / f"wheels-{RELEASES[release]}"


def build_archive(release: str) -> None:
    """Build a clean release with Python and its venv module."""
    unfinished = BUILD / f"{release}.new.tar"
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={INSIDE}"]
    # A mirror may keep its state of a day for longer than that is valid.
    command += ["--aptopt=Acquire::Check-Valid-Until false", f"--keyring={KEYRING}"]
    subprocess.run([*command, release, str(unfinished), MIRROR], check=True)
    unfinished.rename(archive_of(release))


def download_wheels(release: str) -> None:
    """Download the locked libraries, and what builds a wheel, for the Python of a release."""
    target, folder = target_of(release), wheels_of(release)
    unfinished = folder.with_name(f"{folder.name}.new")
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    builders = tomllib.loads(text)["build-system"]["requires"]
    command = [*pip_for(target, "download"), "--dest", str(unfinished)]
    with write_locked_list(target) as list_arguments:
        subprocess.run([*command, *list_arguments], check=True)
    subprocess.run([*command, *builders], check=True)
    unfinished.rename(folder)


def prepare() -> None:
    """Build and download what is missing."""
    BUILD.mkdir(parents=True, exist_ok=True)
    subprocess.run([PROJECT / "tools/debian-packages", PROJECT / TESTS / "debian.txt"], check=True)
    for release in RELEASES:
        if not archive_of(release).exists():
            print(f"Building a clean {release}", flush=True)
            build_archive(release)
        if not wheels_of(release).exists():
            print(f"Downloading wheels for Python {RELEASES[release]}", flush=True)
            download_wheels(release)


def main() -> int:
    if os.geteuid() != 0:
        print("Clean Debians need root; run: sudo make test-packages", file=sys.stderr)
        return 1
    prepare()
    checks = sorted(map(str, TESTS.glob("check_*.py")))
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-s", *sys.argv[1:], *checks]
    return subprocess.run(command, cwd=PROJECT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
