"""Secrets of a backup come along with its passphrase, or are left out on purpose."""

import io
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest

from leverframe.__main__ import main
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, with_value
from leverframe.host.maintenance.backup import read
from leverframe.storage.backup import ALL_SECRETS, BackupFile, encode_backup, pack, unpack
from tests.cases import for_each
from tests.host.maintenance.test_backup import load_settings
from tests.patience import PATIENCE_S

NEWEST = Profile()
WORDS = "correct horse"


def with_secret(name: str = "Lamp") -> Settings:
    tree = with_value(defaults(NEWEST), "email.password", "hunter2")
    return with_value(tree, "outputs.0.name", name)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder, with a sealed backup beside it and no one at the keyboard."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    Path("sealed.bin").write_bytes(encode_backup(NEWEST, with_secret(), WORDS))
    Path("words").write_text(f"{WORDS}\nsomething else\n", encoding="utf-8")
    Path("data").mkdir()
    return Path("data")


def run(*words: str) -> int:
    return main(["backup", *words])


def test_sealed_backup_is_not_restored_without_a_choice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("restore", "sealed.bin", "--data", "data") == 2
    error = capsys.readouterr().err
    assert "encrypted with a passphrase: email.password." in error
    for option in ("--passphrase", "--passphrase-file", "--without-secrets"):
        assert option in error
    assert load_settings(folder) == defaults(NEWEST)


def test_backup_is_restored_without_its_secrets_on_purpose(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("restore", "sealed.bin", "--data", "data", "--without-secrets") == 0
    assert "left out: email.password" in capsys.readouterr().out
    settings = load_settings(folder)
    assert (settings.outputs[0].name, settings.email.password) == ("Lamp", "")


def test_first_line_of_a_file_is_the_passphrase(folder: Path) -> None:
    assert run("restore", "sealed.bin", "--data", "data", "--passphrase-file", "words") == 0
    assert load_settings(folder) == with_secret()


@for_each(
    ("options", "why"),
    [
        (("--passphrase", "--without-secrets"), "only one of"),
        (("--passphrase-file", "none"), "cannot be read"),
        (("--passphrase-file", "empty"), "holds no passphrase"),
        (("--passphrase-file", "wrong"), "does not open this backup"),
        (("--passphrase",), "the value is missing"),
    ],
)
def test_invalid_choice_changes_nothing(
    options: tuple[str, ...], why: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").write_text("\n", encoding="utf-8")
    Path("wrong").write_text("another passphrase\n", encoding="utf-8")
    assert run("restore", "sealed.bin", "--data", "data", *options) == 2
    assert why in capsys.readouterr().err
    assert load_settings(folder) == defaults(NEWEST)


def test_conversion_to_another_version_needs_the_choice_and_one_of_form_does_not() -> None:
    assert run("convert", "sealed.bin", "same.json") == 0
    assert read(Path("same.json")).sealed is not None
    version = ("--hw", "3.9", "--sw", "1.72")
    assert run("convert", "sealed.bin", "other.bin", *version) == 2
    assert not Path("other.bin").exists()
    assert run("convert", "sealed.bin", "other.bin", *version, "--without-secrets") == 0
    assert read(Path("other.bin")).left_out == ("email.password",)
    assert run("convert", "sealed.bin", "kept.bin", *version, "--passphrase-file", "words") == 0
    assert read(Path("kept.bin")).sealed is not None


def test_conversion_can_leave_the_secrets_out() -> None:
    assert run("convert", "sealed.bin", "open.bin", "--without-secrets") == 0
    file = read(Path("open.bin"))
    assert (file.sealed, file.left_out) == (None, ("email.password",))
    assert file.settings == read(Path("sealed.bin")).settings


def test_sealed_file_of_an_earlier_version_needs_a_choice_without_naming_secrets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = read(Path("sealed.bin"))
    Path("old.bin").write_bytes(pack(BackupFile(file.hw, file.sw, file.settings, (), file.sealed)))
    assert b"sealed_settings" not in Path("old.bin").read_bytes()
    assert run("restore", "old.bin", "--data", "data") == 2
    assert ALL_SECRETS in capsys.readouterr().err


# --- creating -------------------------------------------------------------------------------------


def fill_data_folder() -> None:
    assert run("restore", "sealed.bin", "--data", "data", "--passphrase-file", "words") == 0


def test_backup_is_created_with_sealed_secrets() -> None:
    fill_data_folder()
    assert run("create", "new.bin", "--data", "data", "--passphrase-file", "words") == 0
    data = Path("new.bin").read_bytes()
    assert b"hunter2" not in data
    assert unpack(data).sealed_settings == ("email.password",)
    Path("second").mkdir()
    assert run("restore", "new.bin", "--data", "second", "--passphrase-file", "words") == 0
    assert load_settings(Path("second")) == with_secret()


def test_backup_without_secrets_says_which_are_not_in_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fill_data_folder()
    for options in ((), ("--without-secrets",)):
        name = f"{len(options)}.toml"
        assert run("create", name, "--data", "data", *options) == 0
        assert "Secrets not included: email.password." in capsys.readouterr().out
        assert read(Path(name)).left_out == ("email.password",)


def test_existing_file_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    fill_data_folder()
    before = Path("sealed.bin").read_bytes()
    assert run("create", "sealed.bin", "--data", "data", "--without-secrets") == 2
    assert "already exists" in capsys.readouterr().err
    assert Path("sealed.bin").read_bytes() == before


# --- at a terminal --------------------------------------------------------------------------------


def at_terminal(*words: str, typed: list[str]) -> tuple[int, str]:
    """Run a command at a terminal; type a line whenever it waits for one."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "leverframe", "backup", *words],
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    said, lines, answered = "", list(typed), 0
    until = monotonic() + PATIENCE_S
    while monotonic() < until:
        ready, _, _ = select.select([ours], [], [], 1.0)
        try:
            said += os.read(ours, 4096).decode() if ready else ""
        except OSError:
            break
        # Each question ends with a colon, and its answer is not shown.
        if lines and said.count(": ", answered) and said.endswith(": "):
            answered = len(said)
            os.write(ours, f"{lines.pop(0)}\n".encode())
    os.close(ours)
    return process.wait(PATIENCE_S), said


def test_terminal_is_asked_for_the_passphrase() -> None:
    fill_data_folder()
    Path("second").mkdir()
    code, said = at_terminal("create", "new.bin", "--data", "data", typed=[WORDS, WORDS])
    assert code == 0, said
    assert "The controller has secrets: email.password." in said
    assert "Repeat the passphrase" in said
    code, said = at_terminal("restore", "new.bin", "--data", "second", typed=[WORDS])
    assert code == 0, said
    assert "encrypted with a passphrase: email.password." in said
    assert WORDS not in said
    assert load_settings(Path("second")) == with_secret()


def test_empty_answer_at_a_terminal_changes_nothing(folder: Path) -> None:
    code, said = at_terminal("restore", "sealed.bin", "--data", "data", typed=[""])
    assert code == 2
    assert "nothing was changed" in said
    assert load_settings(folder) == defaults(NEWEST)


def test_two_passphrases_that_differ_write_nothing() -> None:
    fill_data_folder()
    code, said = at_terminal("create", "new.bin", "--data", "data", typed=[WORDS, "other horse"])
    assert code == 2
    assert "The two passphrases differ; nothing was written." in said
    assert not Path("new.bin").exists()
