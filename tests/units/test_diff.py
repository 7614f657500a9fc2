"""`leverframe unit diff`: units, unit files, backups, data folders and recordings, in any pair."""

import json
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.core.errors import DONE, NO, NOT_DONE
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, with_value
from leverframe.host.recordings import RecordingFile
from leverframe.interface.exchange import Exchange, RecordedAnswer, RecordedBody
from leverframe.interface.status_files.settings_reader import files_of
from leverframe.storage.backup import encode_backup
from leverframe.testing import Twin
from tests.host.maintenance.data_folder import fill
from tests.units.unit_files import write_unit_file

NEWEST = Profile()
OLDER = Profile("3.5", "1.44")
SETTINGS = {"outputs.0.name": "Pump", "outputs.0.return_time": 90, "email.host": "mail.example"}
FILE = """\
[outputs.OUT0]
name = "Pump"
return_time = "90s"
[email]
host = "mail.example"
password = { env = "NOT_SET_HERE" }
"""


def settings_of(profile: Profile, **values: object) -> Settings:
    settings = defaults(profile)
    for path, value in values.items():
        settings = with_value(settings, path.replace("__", "."), value)
    return settings


def backup(folder: Path, name: str, settings: Settings) -> str:
    profile = Profile(settings.profile.hw, settings.profile.sw)
    (folder / name).write_bytes(encode_backup(profile, settings))
    return str(folder / name)


def recording_of(twin: Twin, path: Path, profile: Profile) -> str:
    recording = RecordingFile(path, twin.url)
    for name in files_of(profile):
        with urllib.request.urlopen(twin.url + name) as reply:
            answer = RecordedAnswer(200, body=RecordedBody(reply.read().decode()))
        recording.add(Exchange(datetime.now(UTC), 0.1, "GET", name, None, answer))
    recording.close()
    return str(path)


def read_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_unit_is_as_its_file_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write_unit_file(tmp_path, FILE))
    with Twin(settings=SETTINGS) as twin:
        assert main(["unit", "diff", twin.url, file]) == DONE
        first, second, unknown, last = read_lines(capsys)
        assert first == f"- {twin.url}, HW 3.9 SW 1.75"
        assert second == f"+ {file}, HW 3.9 SW 1.75"
        assert unknown == (
            f"{file} does not show email.password: the secret that the file refers to is missing"
        )
        assert last == "The same as far as both show it."
        twin.command("/stm.cgi?oname=0Fan")
        assert main(["unit", "diff", file, twin.url]) == NO
        assert read_lines(capsys)[2] == 'OUT0 name: "Pump" -> "Fan"'


def test_defaults_of_another_version_are_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"outputs__0__name": "Pump", "outputs__1__name": "Fan"}
    one = backup(tmp_path, "new.bin", settings_of(NEWEST, **names))
    other = backup(tmp_path, "old.bin", settings_of(OLDER, **{**names, "pwm__0__duty": 7}))
    assert main(["unit", "diff", one, other]) == NO
    lines = read_lines(capsys)
    assert lines[2] == "PWM0 duty: 50 -> 7"
    assert lines[-1] == "1 difference."
    assert main(["unit", "diff", "--json", one, other]) == NO
    document = json.loads(capsys.readouterr().out)
    assert document["same"] is False
    assert document["first_version"] == "HW 3.9 SW 1.75"
    assert document["differences"] == [
        {"key": "pwm.PWM0.duty", "words": "PWM0 duty", "first": "50", "second": "7"}
    ]


def test_unsupported_settings_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = settings_of(NEWEST, http__0__password="hush", modbus_devices__4__name="Meter")
    old = settings_of(OLDER, ui__auto_sign_in=True, email__host="x")
    arguments = [backup(tmp_path, "new.bin", new), backup(tmp_path, "old.bin", old)]
    assert main(["unit", "diff", *arguments]) == NO
    lines = read_lines(capsys)
    assert (
        "ui auto sign in: false -> true (HW 3.9 SW 1.75 does not support the other value)" in lines
    )
    assert 'custom5 name ("Meter"): HW 3.5 SW 1.44 does not have this setting.' in lines
    assert "hush" not in "\n".join(lines)


def test_data_folder_a_readable_backup_and_a_unit_file_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "cellar")
    write_unit_file(tmp_path, '[outputs.OUT0]\nname = "Lamp"\n', "unit.toml")
    readable = write_unit_file(
        tmp_path, 'hw = "3.9"\nsw = "1.75"\n[settings]\n"outputs.0.name" = "Door"\n', "backup.toml"
    )
    assert main(["unit", "diff", str(tmp_path / "cellar"), str(tmp_path / "unit.toml")]) == DONE
    assert read_lines(capsys)[-1] == "The same."
    assert main(["unit", "diff", str(readable), str(tmp_path / "cellar")]) == NO
    text = "\n".join(read_lines(capsys))
    assert 'OUT0 name: "Door" -> "Lamp"' in text
    assert "hunter2" not in text


def test_two_unit_files_are_compared_in_what_both_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write_unit_file(
        tmp_path, '[outputs.OUT0]\nname = "a"\n[outputs.OUT1]\nname = "b"\n', "1.toml"
    )
    two = write_unit_file(
        tmp_path, '[outputs.OUT0]\nname = "x"\n[outputs.OUT2]\nname = "c"\n', "2.toml"
    )
    assert main(["unit", "diff", str(one), str(two)]) == NO
    assert read_lines(capsys)[2:] == ['OUT0 name: "a" -> "x"', "1 difference."]


def test_recording_shows_what_its_status_files_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Twin(hw=OLDER.hw, sw=OLDER.sw, settings=SETTINGS) as twin:
        recording = recording_of(twin, tmp_path / "unit.jsonl", OLDER)
        assert main(["unit", "diff", recording, twin.url]) == DONE
        lines = read_lines(capsys)
        assert any(
            line.startswith(f"{recording} does not show") and "email" in line for line in lines
        )
        twin.command("/stm.cgi?oname=0Fan")
        assert main(["unit", "diff", recording, twin.url]) == NO
        assert 'OUT0 name: "Pump" -> "Fan"' in read_lines(capsys)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("unit.txt", "x", "cannot be compared; name the address of a unit"),
        ("gone.bin", None, "gone.bin cannot be read: No such file"),
        ("unit.toml", "nmae = 1", "line 1: Unknown key `nmae`. Did you mean `name`?"),
        ("b.json", '{"hw":"3.9","sw":"1.75","settings":{"pwm.0.duty":900}}', "that no version"),
        ("gone.toml", None, "gone.toml cannot be read"),
        ("empty.jsonl", None, "contains no status file with the version"),
    ],
)
def test_impossible_comparison_is_reported(
    name: str, text: str | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        write_unit_file(tmp_path, text, name)
    elif name.endswith(".jsonl"):
        RecordingFile(tmp_path / name, "http://192.168.1.10").close()
    good = str(write_unit_file(tmp_path, FILE, "good.toml"))
    assert main(["unit", "diff", str(tmp_path / name), good]) == NOT_DONE
    assert sentence in capsys.readouterr().err
