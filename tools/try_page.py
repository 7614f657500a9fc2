"""Add to the built site the files of its page "Try it": Pyodide, wheels, and their list.

`python -m tools.try_page` fetches what is locked in `tools/try_page/`: Pyodide from npm, and the
wheels that it needs from PyPI. `python -m tools.try_page build/site` also builds the wheel of
Leverframe, and adds all of it to the site. Without npm or network both say so in one sentence and
succeed: the page then says that this copy of the site has no controller.
"""

import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from leverframe.core.profile import HARDWARE, newest_software

PROJECT = Path(__file__).parent.parent
LOCKED = PROJECT / "tools" / "try_page"
PYODIDE = LOCKED / "node_modules" / "pyodide"
WHEELS = PROJECT / "build" / "try_page"
#: The folder of the page's files in the site.
PLACE = Path("_static", "try", "files")
#: What a browser loads of Pyodide.
RUNTIME = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
FETCH_S = 180


class NotBuilt(Exception):
    """The files cannot be put together; the message is the reason."""


def main(site: Path | None) -> None:
    """Fetch the files, and add them to a site; print why not."""
    try:
        fetch_files()
        if site is not None:
            build_files(site / PLACE)
    except NotBuilt as reason:
        print(f"The page to try Leverframe in a browser has no controller: {reason}.")


def is_fetched() -> bool:
    return _mark().exists() and PYODIDE.exists()


def _mark() -> Path:
    locks = (LOCKED / "package-lock.json", LOCKED / "wheels.txt")
    digest = sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    return WHEELS / f".locked-{digest[:16]}"


def fetch_files() -> None:
    """Fetch Pyodide and the wheels, unless they are present."""
    if is_fetched():
        return
    if shutil.which("npm") is None:
        raise NotBuilt("npm is not installed")
    run_npm()
    shutil.rmtree(WHEELS, ignore_errors=True)
    WHEELS.mkdir(parents=True)
    download_wheels(WHEELS)
    _mark().touch()


def build_files(folder: Path) -> None:
    """Write Pyodide, the wheels, and `files.json` with their sizes, without network."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in (*(PYODIDE / name for name in RUNTIME), *WHEELS.glob("*.whl")):
        shutil.copy(path, folder)
    build_wheel(folder)
    (folder / "files.json").write_bytes(msgspec.json.encode(describe_files(folder)))


def run_npm() -> None:
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    _run(command, LOCKED, "npm cannot fetch the package of tools/try_page/package-lock.json")


def download_wheels(folder: Path) -> None:
    platform = msgspec.json.decode((PYODIDE / "pyodide-lock.json").read_bytes())["info"]
    python = ".".join(platform["python"].split(".")[:2])
    _run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"),
            *("--only-binary=:all:", "--implementation", "cp"),
            *("--platform", f"pyemscripten_{platform['abi_version']}_wasm32"),
            *("--python-version", python, "--abi", f"cp{python.replace('.', '')}"),
            *("--requirement", str(LOCKED / "wheels.txt"), "--dest", str(folder)),
        ],
        PROJECT,
        "pip cannot fetch the wheels of tools/try_page/wheels.txt",
    )


def build_wheel(folder: Path) -> None:
    """Build the same wheel as a release."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    _run(command, PROJECT, "the wheel of Leverframe cannot be built")


def describe_files(folder: Path) -> dict[str, Any]:
    """Return what the page has to know before it loads anything."""
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    return {
        "sizes": sizes,
        "wheels": [name for name in sizes if name.endswith(".whl")],
        "versions": [[hw, newest_software(hw)] for hw in reversed(HARDWARE)],
    }


def _run(command: list[str], folder: Path, problem: str) -> None:
    try:
        subprocess.run(
            command, cwd=folder, check=True, timeout=FETCH_S, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        raise NotBuilt(problem) from None
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)
        raise NotBuilt(problem) from None


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None)
