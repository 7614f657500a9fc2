"""`leverframe backup`: a file in the hand can be read, compared, converted and restored."""

import asyncio
import io
from pathlib import Path
from random import Random

import pytest

from leverframe.__main__ import main
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, settings_from_leaves, with_value
from leverframe.host.maintenance.backup import list_changes, read
from leverframe.storage.backup import encode_backup, unpack
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.sqlite import SqliteStore
from tests.random_settings import random_settings

NEWEST = Profile()
OLD = Profile("3.0", "1.58a")


def write_backup(path: Path, settings: Settings, profile: Profile = NEWEST) -> Path:
    path.write_bytes(encode_backup(profile, settings))
    return path


def load_settings(folder: Path, profile: Profile = NEWEST) -> Settings:
    async def load() -> Settings:
        store = EncryptingStore(SqliteStore(folder / "store.db"), folder / "secrets.key")
        try:
            return settings_from_leaves(profile, store.load().settings)[0]
        finally:
            await store.close()

    return asyncio.run(load())


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("profile", [NEWEST, OLD, Profile("3.5", "1.40")], ids=str)
def test_readable_and_back_is_the_same_backup(
    tmp_path: Path, suffix: str, profile: Profile
) -> None:
    for seed in range(5):
        tree = random_settings(profile, Random(seed), 120)
        binary = write_backup(tmp_path / "a.bin", tree, profile)
        text, back = tmp_path / f"a{suffix}", tmp_path / "b.bin"
        assert main(["backup", "convert", str(binary), str(text)]) == 0
        assert main(["backup", "convert", str(text), str(back)]) == 0
        assert main(["backup", "diff", str(binary), str(back)]) == 0
        assert read(back).left_out == read(binary).left_out


def test_shown_backup_is_what_differs_from_the_factory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_backup(tmp_path / "a.bin", with_value(defaults(NEWEST), "outputs.0.name", "Lamp"))
    assert main(["backup", "show", str(file)]) == 0
    assert capsys.readouterr().out == (
        'hw = "3.9"\nsw = "1.75"\nedition = 2\n\n[settings]\n"outputs.0.name" = "Lamp"\n'
    )


def test_difference_names_both_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = write_backup(tmp_path / "a.bin", defaults(NEWEST))
    second = write_backup(tmp_path / "b.bin", with_value(defaults(NEWEST), "pwm.1.duty", 30))
    assert main(["backup", "diff", str(first), str(second)]) == 1
    assert capsys.readouterr().out == "pwm.1.duty: 50 -> 30\n"


def test_converted_backup_lists_what_is_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = with_value(defaults(NEWEST), "outputs.0.name", "Lamp")
    file = write_backup(tmp_path / "a.bin", with_value(tree, "outputs.0.remember", True))
    output = tmp_path / "b.bin"
    arguments = ["backup", "convert", str(file), str(output), "--hw", "3.0", "--sw", "1.58a"]
    assert main(arguments) == 0
    assert "left out: outputs.0.remember (true)" in capsys.readouterr().out
    assert list_changes(unpack(output.read_bytes())) == {"outputs.0.name": "Lamp"}
    assert read(output).hw == "3.0"


def test_backup_is_restored_into_a_data_folder(tmp_path: Path) -> None:
    text = tmp_path / "a.toml"
    text.write_text('hw = "3.9"\nsw = "1.75"\n[settings]\n"outputs.0.name" = "Lamp"\n')
    folder = tmp_path / "data"
    folder.mkdir()
    assert main(["backup", "restore", str(text), "--data", str(folder)]) == 0
    assert load_settings(folder) == with_value(defaults(NEWEST), "outputs.0.name", "Lamp")


def test_sealed_backup_is_restored_with_its_passphrase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = with_value(defaults(NEWEST), "email.password", "hunter2")
    file = tmp_path / "a.bin"
    file.write_bytes(encode_backup(NEWEST, tree, "correct horse"))
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    folder = tmp_path / "data"
    folder.mkdir()
    assert main(["backup", "restore", str(file), "--data", str(folder), "--passphrase"]) == 0
    assert load_settings(folder) == tree


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.bin", b"nothing", "not a settings backup"),
        ("a.toml", b"hw = ", "not valid TOML"),
        ("a.json", b"[]", "a.json is not a backup"),
        ("a.json", b"{", "not valid JSON"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.json", b'{"hw": "\xff"}', "not valid JSON"),
        ("a.txt", b"{}", "end the name with .toml, .json or .bin"),
        ("a.json", b'{"hw": "9", "sw": "1.75", "settings": {}}', "unknown"),
        ("a.json", b'{"hw": "3.9", "sw": "1.75", "settings": {"pwm.0.duty": 101}}', "pwm.0.duty"),
        ("a.json", b'{"hw": "3.9", "sw": "1.75", "settings": {"email.password": "x"}}', "sealed"),
    ],
)
def test_file_that_will_not_do_ends_in_one_line_and_changes_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    reason: str,
) -> None:
    (tmp_path / name).write_bytes(content)
    folder = tmp_path / "data"
    folder.mkdir()
    assert main(["backup", "restore", str(tmp_path / name), "--data", str(folder)]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert load_settings(folder) == defaults(NEWEST)


def test_missing_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backup", "show", str(tmp_path / "none.bin")]) == 2
    assert "cannot be read" in capsys.readouterr().err
