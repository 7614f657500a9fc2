"""Build the files of a release: both packages, the list of their parts, and checksums.

Everything is built twice from the last commit, and the builds must be identical, so that others can
build the same files. The result is in `dist/`. `RELEASING.md` lists the steps before and after.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PROJECT = Path(__file__).parent.parent
PLUGIN = Path("packaging/pytest-leverframe")
INTERFACE = "packaging/public-interface.txt"
_VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)
_LOCKED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", re.MULTILINE)


class NotReady(Exception):
    """The tree cannot be released: one line for each reason."""


def read_version(project: Path) -> str:
    found = _VERSION.search((project / "src/leverframe/__init__.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def find_obstacles(project: Path) -> Iterator[str]:
    """Yield a message for each step that is missing before the release."""
    version = read_version(project)
    plugin = tomllib.loads((project / PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))
    if plugin["project"]["version"] != version:
        yield f"{PLUGIN} has version {plugin['project']['version']}; set it to {version}."
    changelog = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (.+)", changelog, re.MULTILINE)
    if newest is None or not re.fullmatch(rf"{re.escape(version)} - [-0-9]{{10}}", newest[1]):
        yield (
            f"CHANGELOG.md does not begin with {version} and its date; run make changelog"
            f" ARGS={version}."
        )
    if fragments := [one for one in (project / "changes").glob("*.md") if one.name != "README.md"]:
        yield (
            f"changes/ has {len(fragments)} fragments; run make changelog ARGS={version}, or"
            " choose the next version."
        )
    if _git(project, "status", "--porcelain"):
        yield "The tree has changes; commit them."
    removed = find_removed(project, version)
    if removed and not re.search(r"^### Removed$", _section(changelog), re.MULTILINE):
        yield (
            f"{len(removed)} parts of the public interface were removed, such as {removed[0]!r};"
            f" CHANGELOG.md has no section Removed for {version}."
        )


def find_removed(project: Path, version: str) -> list[str]:
    """List the parts of the public interface that were removed since the previous release."""
    tags = _git(project, "tag", "--list", "v*", "--sort=-v:refname").split()
    earlier = [tag for tag in tags if tag != f"v{version}"]
    try:
        old = _git(project, "show", f"{earlier[0]}:{INTERFACE}") if earlier else ""
    except subprocess.CalledProcessError:
        # The first releases have no such list.
        return []
    present = (project / INTERFACE).read_text(encoding="utf-8").splitlines()
    return sorted({line for line in old.splitlines() if line[:1] != "#"} - set(present))


def _section(changelog: str) -> str:
    """Return the newest section of the changelog."""
    return re.split(r"^## ", changelog, flags=re.MULTILINE)[1:2][0]


def _git(project: Path, *words: str) -> str:
    command = ["git", "-C", str(project), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit_time(project: Path) -> int:
    return int(_git(project, "log", "-1", "--format=%ct"))


def build_twice(project: Path, folder: Path, built_at: int) -> list[Path]:
    """Build both packages into a folder; raise NotReady if a second build differs."""
    with TemporaryDirectory() as other:
        build(project, Path(other), built_at)
        files = build(project, folder, built_at)
        different = [one.name for one in files if not _is_same(one, Path(other) / one.name)]
    if different:
        raise NotReady(f"Two builds differ: {', '.join(different)}.")
    return files


def build(project: Path, folder: Path, built_at: int) -> list[Path]:
    """Build wheels and source archives of both packages into an empty folder."""
    for source in (project, project / PLUGIN):
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(folder.absolute())],
            cwd=source,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(built_at)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
    return sorted(folder.iterdir())


def _is_same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def list_parts(project: Path, version: str, built_at: int) -> dict[str, Any]:
    """Return the locked packages that `make run` installs, as a CycloneDX document."""
    locked = _LOCKED.findall((project / "requirements/run.txt").read_text(encoding="utf-8"))
    root = f"pkg:pypi/leverframe@{version}"
    parts = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{number}",
            "name": name,
            "version": number,
            "purl": f"pkg:pypi/{name}@{number}",
        }
        for name, number in locked
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(built_at, UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "leverframe",
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": parts,
        "dependencies": [{"ref": root, "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {"serialNumber": f"urn:uuid:{number}", **document}


def write_checksums(files: list[Path], to: Path) -> None:
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}" for one in files]
    to.write_text("\n".join(lines) + "\n", encoding="utf-8")


def release(project: Path, folder: Path) -> list[Path]:
    """Write all files of the release into a new folder; raise NotReady before anything is done."""
    if obstacles := list(find_obstacles(project)):
        raise NotReady("\n".join(obstacles))
    version, built_at = read_version(project), commit_time(project)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    files = build_twice(project, folder, built_at)
    parts = folder / f"leverframe-{version}.cdx.json"
    document = list_parts(project, version, built_at)
    parts.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    files.append(parts)
    sums = folder / "SHA256SUMS"
    write_checksums(files, sums)
    return [*files, sums]


def main(project: Path = PROJECT) -> int:
    try:
        files = release(project, project / "dist")
    except NotReady as error:
        print(error, file=sys.stderr)
        return 1
    for one in files:
        print(f"dist/{one.name}  {one.stat().st_size:,} bytes")
    print("The two builds are identical. RELEASING.md lists the next steps.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
