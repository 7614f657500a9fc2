"""`unit pull` says what was read and what was not, and writes what can be used again."""

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.core.errors import NOT_DONE
from leverframe.core.profile import Profile
from leverframe.interface.status_files.settings_reader import files_of
from leverframe.testing import Twin
from leverframe.units.file_loader import load_unit_file
from leverframe.units.pull import CannotPull, pull, together
from tests.units.unit_server import serve_files

SETTINGS: dict[str, Any] = {
    "outputs.0.name": "Pump",
    "http.0.url": "http://hook.example/token-7",
    "rules.0.source": "DS1",
    "rules.0.reference": 30.0,
    "rules.0.enabled": True,
}


async def pull_unit(
    *units: str, out: Path | None = None, user: str | None = None, as_json: bool = False
) -> int:
    return await pull([*units], None, out, user, None, as_json, verbose=False)


OLD = {"hw": "3.5", "sw": "1.49"}


async def test_pulled_settings_are_printed_without_secrets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Twin(**OLD, settings=SETTINGS, name="north", mac="02:00:00:00:00:07") as twin:
        await pull_unit(twin.url)
        await pull_unit(twin.url, as_json=True)
    report, events = capsys.readouterr().out.split('\n{"event"')
    assert f"{twin.url}: north, MAC 02:00:00:00:00:07, HW 3.5 SW 1.49" in report
    assert 'outputs.OUT0.name = "Pump"' in report
    assert 'rules.1 = "when DS1 >= 30, then OUT0 on"' in report
    document = msgspec.json.decode('{"event"' + events)
    assert document["settings"]["outputs.OUT0.name"] == "Pump"
    assert document["settings"]["http.HTTP1.url"] == "***"
    assert document["read_as"] == OLD
    assert document["digest"] in report
    assert "token-7" not in report + events


async def test_unreadable_settings_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    accounts = {"admin": "right-password", "user": "another-password"}
    with Twin(**OLD, accounts=accounts) as twin, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO("another-password\n"))
        await pull_unit(twin.url, user="user")
    report = capsys.readouterr().out
    assert "  none" in report
    assert "Not read:" in report
    assert "power.POWER1-POWER6.current" in report
    assert "Note: Only the administrator can read all settings" in report
    with Twin(accounts=accounts) as twin:
        assert await pull_unit(twin.url) == NOT_DONE
        assert "requires a login" in capsys.readouterr().err


async def test_unit_file_says_what_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "north.toml"
    with Twin(**OLD, settings=SETTINGS) as twin:
        await pull_unit(twin.url, out=out)
    text, report = out.read_text(encoding="utf-8"), capsys.readouterr().out
    assert text.startswith(f"# Read from {twin.url}")
    assert 'url = { secret = "http.HTTP1.url" }' in text
    assert f"Written to {out}." in report
    assert "Secrets that are not in the file: http.HTTP1.url" in report
    file = load_unit_file(out, need_secrets=False)
    assert file.profile == Profile("3.5", "1.49")


async def test_unit_file_that_is_there_is_brought_up_to_date(tmp_path: Path) -> None:
    out = tmp_path / "north.toml"
    with Twin(**OLD, settings={"outputs.0.name": "Pump"}) as twin:
        await pull_unit(twin.url, out=out)
        kept = out.read_text(encoding="utf-8") + "# the owner's own words\n"
        out.write_text(kept, encoding="utf-8")
        twin.command("stm.cgi?oname=0Fan")
        await pull_unit(twin.url, out=out)
    assert out.read_text(encoding="utf-8") == kept.replace('"Pump"', '"Fan"')


@pytest.mark.usefixtures("lift_pacing")
async def test_unit_file_leaves_out_entries_that_were_not_read(tmp_path: Path) -> None:
    out = tmp_path / "north.toml"
    with Twin() as twin:
        for entry in range(3):
            twin.command(f"inpa.cgi?event={entry}*10*0*2150*50*0*0*0*0*0*0*0*1*0*0*0")
        files = {path: twin.get(path).encode() for path in files_of(Profile())}
    files["/xml/eve2.xml"] = files["/xml/eve2.xml"].replace(b"<ev1>1*0*10*", b"<ev1>1*0*99*")
    async with serve_files(files) as unit:
        await pull_unit(unit.url, out=out)
    text = out.read_text(encoding="utf-8")
    assert '"rules"' in text
    assert "[rules]" not in text
    assert load_unit_file(out).profile == Profile()


async def test_backup_makes_a_twin_with_what_was_read(tmp_path: Path) -> None:
    out = tmp_path / "north.json"
    with Twin(**OLD, settings=SETTINGS) as twin:
        await pull_unit(twin.url, out=out)
    with Twin(settings=out) as again:
        assert again.settings["rules"][0]["reference"] == 30.0
        assert again.settings["profile"] == OLD


@pytest.mark.parametrize(
    ("name", "why"), [("x.txt", "end the name with .toml"), ("", "already exists")]
)
async def test_file_that_cannot_be_written_is_refused_before_the_unit_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    (tmp_path / "there.json").touch()
    with Twin() as twin:
        with pytest.raises(CannotPull, match=why):
            await pull_unit(twin.url, out=tmp_path / (name or "there.json"))
        assert twin.requests() == []
        assert await pull_unit(twin.url, out=tmp_path / "no" / "a.toml") == NOT_DONE
        assert "cannot be written" in capsys.readouterr().err


def test_paths_that_differ_by_a_number_are_reported_together() -> None:
    paths = ["email", "power.0.unit", "power.1.unit", "power.2.unit", "rules.1", "rules.4"]
    assert together(paths) == ["email", "power.POWER1-POWER3.unit", "rules.2,5"]
