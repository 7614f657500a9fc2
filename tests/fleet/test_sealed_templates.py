"""A template carries no secrets: a sealed backup is refused, or read without them."""

import logging
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value
from leverframe.fleet.fleet_file import read_fleet
from leverframe.host.configuration.reader import Sources
from leverframe.storage.backup import encode_backup
from tests.cases import for_each


@pytest.fixture(autouse=True)
def write_sealed_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree = with_value(defaults(Profile()), "email.password", "hunter2")
    Path("sealed.bin").write_bytes(encode_backup(Profile(), tree, "correct horse"))


@for_each(
    "words",
    [
        "add --name gh-1 --template sealed.bin",
        "rollout plan --template sealed.bin",
        "drift --template sealed.bin",
    ],
)
def test_sealed_backup_is_refused_as_a_template(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # No node listens there: the file is refused before any is asked.
    assert main(["fleet", *words.split(), "--node", "http://127.0.0.1:9"]) == 2
    error = capsys.readouterr().err
    assert "sealed.bin contains encrypted secrets, which a template cannot contain." in error
    assert "leverframe backup convert sealed.bin template.toml --without-secrets" in error
    assert main(["backup", "convert", "sealed.bin", "template.toml", "--without-secrets"]) == 0
    assert "sealed" not in Path("template.toml").read_text(encoding="utf-8")


def test_sealed_backup_in_a_fleet_file_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    Path("fleet.toml").write_text(
        '[[controllers]]\nname = "gh-1"\nsettings = "sealed.bin"\n', encoding="utf-8"
    )
    with caplog.at_level(logging.WARNING):
        read_fleet(Sources(Path("fleet.toml"), {}, {}))
    assert "controllers gh-1 start without the sealed secrets of sealed.bin" in caplog.text
