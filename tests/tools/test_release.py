"""A release is refused with every reason, and its files are complete and correct."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tools import release
from tools.release import NotReady, find_obstacles, find_removed, list_parts, write_checksums

INTERFACE = "library leverframe.testing.Twin\nlibrary leverframe.testing.Twin.get(path)\n"


def git(folder: Path, *words: str) -> None:
    account = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *account, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "Prepare the release")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that is ready for its release 0.2.0, after a release 0.1.0."""
    files = {
        "src/leverframe/__init__.py": '__version__ = "0.2.0"\n',
        "packaging/pytest-leverframe/pyproject.toml": '[project]\nversion = "0.2.0"\n',
        "packaging/public-interface.txt": INTERFACE,
        "changes/README.md": "How to write a fragment.\n",
        "CHANGELOG.md": "# Changelog\n\n## 0.2.0 - 2026-11-19\n\n### Added\n\n- Rules.\n",
    }
    for place, text in files.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    git(tmp_path, "tag", "v0.1.0")
    return tmp_path


def test_prepared_tree_has_no_obstacle(project: Path) -> None:
    assert list(find_obstacles(project)) == []


def test_every_obstacle_is_named_together(project: Path) -> None:
    (project / "packaging/pytest-leverframe/pyproject.toml").write_text(
        '[project]\nversion = "0.1.0"\n'
    )
    (project / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0 - unreleased\n")
    (project / "changes/rules.added.md").write_text("Rules.\n")
    with pytest.raises(NotReady) as refused:
        release.release(project, project / "dist")
    plugin, changelog, fragments, tree = str(refused.value).splitlines()
    assert plugin.endswith("has version 0.1.0; set it to 0.2.0.")
    assert "does not begin with 0.2.0 and its date" in changelog
    assert fragments.startswith("changes/ has 1 fragments; run make changelog ARGS=0.2.0")
    assert tree == "The tree has changes; commit them."
    assert not (project / "dist").exists()


def test_removed_part_of_the_interface_needs_a_section_in_the_changelog(project: Path) -> None:
    (project / "packaging/public-interface.txt").write_text(INTERFACE.splitlines()[0] + "\n")
    commit(project)
    assert find_removed(project, "0.2.0") == ["library leverframe.testing.Twin.get(path)"]
    (obstacle,) = find_obstacles(project)
    assert "1 parts of the public interface were removed" in obstacle
    changelog = project / "CHANGELOG.md"
    changelog.write_text(changelog.read_text() + "\n### Removed\n\n- `Twin.get`.\n")
    commit(project)
    assert list(find_obstacles(project)) == []


def test_list_of_parts_names_every_locked_package_once() -> None:
    document = list_parts(release.PROJECT, "0.2.0", built_at=1_790_000_000)
    assert document == list_parts(release.PROJECT, "0.2.0", built_at=1_790_000_000)
    references = [part["bom-ref"] for part in document["components"]]
    assert len(references) == len(set(references)) > 20
    assert any(one.startswith("pkg:pypi/msgspec@") for one in references)
    vendor = release.PROJECT / "src/leverframe/web/vendor"
    assert len(release.VENDORED) == len(list(vendor.glob("*.LICENSE")))
    assert "pkg:npm/%40preact/signals-core@1.14.5" in references
    assert document["dependencies"] == [
        {"ref": "pkg:pypi/leverframe@0.2.0", "dependsOn": references}
    ]
    json.dumps(document)


def test_checksums_are_those_of_the_files(tmp_path: Path) -> None:
    wheel, sums = tmp_path / "a.whl", tmp_path / "SHA256SUMS"
    wheel.write_bytes(b"wheel")
    write_checksums([wheel], sums)
    assert sums.read_text() == f"{hashlib.sha256(b'wheel').hexdigest()}  a.whl\n"
