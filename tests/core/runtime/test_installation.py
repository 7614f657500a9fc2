"""The command that adds an extra, for each way of installing Leverframe."""

import sys
from pathlib import Path

import pytest

from leverframe.core.runtime import installation
from tests.cases import for_each


def test_clone_is_installed_again_from_its_folder() -> None:
    source = Path(installation.__file__).parents[4]
    wanted = f"{sys.executable} -m pip install '{source}[hardware]'"
    assert installation.command_for_extra("hardware") == wanted


@for_each(
    ("prefix", "command"),
    [
        ("/opt/leverframe", f"{sys.executable} -m pip install 'leverframe[fleet]'"),
        (
            "/root/.local/share/pipx/venvs/leverframe",
            "pipx install --force 'leverframe[fleet,terminal]'",
        ),
        ("/root/.local/share/uv/tools/leverframe", "uv tool install 'leverframe[fleet,terminal]'"),
    ],
)
def test_wheel_is_installed_again_by_the_tool_that_installed_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prefix: str, command: str
) -> None:
    monkeypatch.setattr(installation, "_PACKAGE", tmp_path / "site-packages" / "leverframe")
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(installation, "find_spec", lambda package: package == "rich" or None)
    assert installation.command_for_extra("fleet") == command
