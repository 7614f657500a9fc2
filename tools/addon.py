"""Put the add-on for Home Assistant together: its folder, the wheel, and the locked libraries.

python -m tools.addon [--folder dist/home-assistant]
"""

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.deb import LOCKED, build_wheel
from tools.release import PROJECT, commit_time

SOURCE = PROJECT / "packaging" / "home-assistant"


def assemble_addon(wheel: Path, folder: Path) -> Path:
    """Write the folder that Home Assistant's supervisor builds; replace an earlier one."""
    addon = folder / "leverframe"
    shutil.rmtree(addon, ignore_errors=True)
    shutil.copytree(SOURCE, addon)
    shutil.copy(LOCKED, addon)
    shutil.copy(wheel, addon)
    return addon


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.addon", description="Assemble the add-on.")
    parser.add_argument("--folder", type=Path, default=PROJECT / "dist" / "home-assistant")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder) / "wheel", commit_time(PROJECT))
        print(assemble_addon(wheel, options.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
