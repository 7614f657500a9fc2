"""The fragments in changes/, and how they are collected into CHANGELOG.md."""

from pathlib import Path

import pytest

from tools.changes import PROJECT, find_fragments, find_problems, main

CHANGELOG = "# Changelog\n\nIntroduction.\n\n## 0.1.0 - 2026-11-16\n\nThe first release.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("Not a fragment\n", encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def write_fragment(project: Path, name: str, text: str) -> Path:
    path = project / "changes" / name
    path.write_text(text, encoding="utf-8")
    return path


def test_fragments_of_this_project_are_sound() -> None:
    fragments = find_fragments(PROJECT / "changes")
    assert [problem for path in fragments for problem in find_problems(path)] == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("retry.security.md", "A module is retried.\n", "KIND is one of added, changed"),
        ("retry.md", "A module is retried.\n", "is not named SUBJECT.KIND.md"),
        ("Retry it.fixed.md", "A module is retried.\n", "is not named SUBJECT.KIND.md"),
        ("retry.fixed.md", "", "is not one line"),
        ("retry.fixed.md", "A module is\nretried.\n", "is not one line"),
        ("retry.fixed.md", f"{'long ' * 60}text.\n", "at most 250 characters"),
        ("retry.fixed.md", "- A module is retried.\n", "starts with a list mark"),
        ("retry.fixed.md", "A module is retried\n", "does not end with a full stop"),
    ],
)
def test_bad_fragment_is_refused_and_changes_nothing(
    name: str,
    text: str,
    problem: str,
    project: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = write_fragment(project, name, text)
    good = write_fragment(project, "good.added.md", "Rules have names.\n")
    assert main(["0.2.0"], project) == 1
    assert problem in capsys.readouterr().err
    assert (project / "CHANGELOG.md").read_text(encoding="utf-8") == CHANGELOG
    assert bad.exists()
    assert good.exists()


def test_release_collects_fragments_by_kind_and_removes_them(project: Path) -> None:
    write_fragment(project, "retry.fixed.md", "A module is retried.\n")
    write_fragment(project, "names.added.md", "Rules have names.\n")
    assert main(["0.2.0"], project) == 0
    lines = (project / "CHANGELOG.md").read_text(encoding="utf-8").split("\n\n")
    assert lines[2].startswith("## 0.2.0 - 20")
    assert lines[3:7] == ["### Added", "- Rules have names.", "### Fixed", "- A module is retried."]
    assert lines[7:] == ["## 0.1.0 - 2026-11-16", "The first release.\n"]
    assert find_fragments(project / "changes") == []


def test_release_adds_to_a_section_that_exists(project: Path) -> None:
    section = "## 0.2.0 - unreleased\n\n### Highlights\n\n- Twins.\n\n### Fixed\n\n- One.\n\n"
    text = CHANGELOG.replace("## 0.1.0", f"{section}## 0.1.0")
    (project / "CHANGELOG.md").write_text(text, encoding="utf-8")
    write_fragment(project, "names.added.md", "Rules have names.\n")
    write_fragment(project, "retry.fixed.md", "Two.\n")
    assert main(["0.2.0"], project) == 0
    text = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "### Highlights\n\n- Twins.\n\n### Added\n\n- Rules have names.\n\n### Fixed" in text
    assert "- One.\n- Two.\n\n## 0.1.0" in text
