"""The wheel with each extra in a clean Debian, on each supported Python that Debian has."""

import time
from pathlib import Path

import pytest

from leverframe import __version__
from leverframe.core.runtime.installation import EXTRAS
from tests.packages.root import Root
from tools.package_trials import RELEASES

#: Packages that are not imported by the name of the table, in an environment that has them.
IMPORTED = {"luma": "luma.oled.device"}
#: Sets a name, and shows what changed: settings are stored and read on this Python.
RENAME = """
import json
from leverframe.testing import Twin

with Twin() as twin:
    twin.command("stm.cgi?oname=0Pump")
    (change,) = json.loads(twin.get("/api/audit"))[-1]["changes"]
    print(change["path"], change["new"])
"""


@pytest.fixture(scope="module")
def pip(root: Root, wheel: Path) -> str:
    """Bring the wheel; return a pip that installs into other environments."""
    root.bring(wheel)
    root.succeed("python3", "-m", "venv", "/root/tool")
    return "/root/tool/bin/pip"


def install(root: Root, pip: str, wheel: Path, extras: str) -> str:
    """Install the wheel into a new environment; print time and size; return its folder."""
    folder, wanted = f"/root/with-{extras}", f"[{extras}]" if extras else ""
    began = time.monotonic()
    root.succeed("python3", "-m", "venv", "--without-pip", folder)
    into = ("--python", f"{folder}/bin/python", "install", "--quiet")
    root.succeed(pip, *into, f"/root/{wheel.name}{wanted}")
    duration = time.monotonic() - began
    print(f"wheel{wanted}: {duration:.1f} s, {root.size_mb(folder):.1f} MB with compiled modules")
    return folder


def test_python_is_the_one_of_the_release(root: Root, release: str) -> None:
    version = root.succeed("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    assert version == f"{RELEASES[release]}\n"


def test_wheel_alone_runs_a_twin_and_names_the_missing_extra(
    root: Root, pip: str, wheel: Path
) -> None:
    folder = install(root, pip, wheel, "")
    assert root.succeed(f"{folder}/bin/leverframe", "-V") == f"leverframe {__version__}\n"
    assert root.succeed(f"{folder}/bin/python", "-c", RENAME) == "outputs.0.name Pump\n"
    command = f"{folder}/bin/leverframe fleet run --database postgresql://127.0.0.1/none"
    done = root.run(*command.split())
    assert done.returncode == 2, done.stdout
    assert f"{folder}/bin/python -m pip install 'leverframe[fleet]'" in done.stdout


@pytest.mark.parametrize("extra", sorted(set(EXTRAS.values())))
def test_extra_installs_its_packages(root: Root, pip: str, wheel: Path, extra: str) -> None:
    folder = install(root, pip, wheel, extra)
    names = [IMPORTED.get(name, name) for name, of in EXTRAS.items() if of == extra]
    root.succeed(f"{folder}/bin/python", "-c", f"import {', '.join(names)}")
    assert root.succeed(f"{folder}/bin/leverframe", "-V") == f"leverframe {__version__}\n"


def test_all_extras_together_are_consistent(root: Root, pip: str, wheel: Path) -> None:
    folder = install(root, pip, wheel, "all,fleet,hardware")
    checked = root.succeed(pip, "--python", f"{folder}/bin/python", "check")
    assert checked == "No broken requirements found.\n"
