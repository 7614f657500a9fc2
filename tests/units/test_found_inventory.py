"""The inventory of a search, and what is said about addresses and names."""

from pathlib import Path

import msgspec
import pytest

from leverframe.host.command_line.entry import carry_out
from leverframe.testing import Twin
from leverframe.units.addresses import MAX_SHOWN, shorten_addresses, single_addresses
from leverframe.units.find import build_inventory, same_names
from leverframe.units.inventory import (
    Inventory,
    InventoryUnit,
    distinct_names,
    files_of_units,
    load_inventory,
    plain_name,
)
from leverframe.units.search import FoundUnit
from tests.cases import for_each
from tests.ports import free_port

MACS = [f"02:00:00:00:00:0{number}" for number in range(4)]


def unit(number: int, name: str = "", mac: str = "", **more: object) -> FoundUnit:
    known = {"hardware": "3.5", "software": "1.49", "is_identified": True, **more}
    found = FoundUnit(f"http://192.0.2.{number}", name, mac or MACS[number])
    return msgspec.structs.replace(found, **known)


def write_and_load(folder: Path, *found: FoundUnit) -> Inventory:
    path = folder / "units.toml"
    path.write_text(build_inventory(found).text, encoding="utf-8")
    assert carry_out(["unit", "check", str(path)]) == 0
    return load_inventory(path)


def test_inventory_has_names_addresses_and_mac_addresses(tmp_path: Path) -> None:
    found = write_and_load(tmp_path, unit(0, "North"), unit(1, "Gewächs haus/2"), unit(2))
    assert [(one.name, one.address, one.mac) for one in found.units] == [
        ("North", "http://192.0.2.0", MACS[0]),
        ("Gewächs-haus-2", "http://192.0.2.1", MACS[1]),
        ("unit-192-0-2-2", "http://192.0.2.2", MACS[2]),
    ]
    assert {one.groups for one in found.units} == {("all",)}


def test_names_that_come_again_are_numbered_and_reported(tmp_path: Path) -> None:
    units = [unit(0, "Pump"), unit(1, "pump"), unit(2, "Pump-2")]
    assert [one.name for one in write_and_load(tmp_path, *units).units] == [
        "Pump",
        "pump-2",
        "Pump-2-2",
    ]
    (remark,) = build_inventory(units).remarks
    assert "http://192.0.2.0 is Pump, http://192.0.2.1 is pump-2" in remark


@for_each(
    "left_out",
    [
        unit(1, mac=MACS[0]),
        FoundUnit("http://192.0.2.1", sign_in=True),
        FoundUnit("http://192.0.2.1", trouble="It rejects the login\n[units.b]"),
        unit(1, trouble="It shows two MAC addresses.", is_identified=False),
    ],
)
def test_uncertain_unit_is_a_comment(tmp_path: Path, left_out: FoundUnit) -> None:
    (known,) = write_and_load(tmp_path, unit(0, "North"), left_out).units
    assert known.name == "North"
    text, size, (remark,) = build_inventory([unit(0, "North"), left_out])
    assert size == 1
    assert '# address = "http://192.0.2.1"' in text
    assert "http://192.0.2.1 is left out" in remark


def test_unit_that_is_too_slow_for_its_digest_is_listed(tmp_path: Path) -> None:
    slow = unit(0, "North", trouble="It is too slow.")
    assert [one.name for one in write_and_load(tmp_path, slow).units] == ["North"]


@for_each("name", ["\x1b[31m", '"]\n[units.x', "${zone}", "..", "é" * 500, "\u202e"])
def test_hostile_name_is_harmless(tmp_path: Path, name: str) -> None:
    (known,) = write_and_load(tmp_path, unit(0, name)).units
    assert known.mac == MACS[0]
    assert len(known.name) <= 64


def test_file_that_is_there_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("units.toml").write_text("# mine\n")
    with Twin() as twin:
        assert carry_out(["unit", "find", twin.url, "--out", "units.toml"]) == 2
        assert twin.requests() == []
    assert "already exists" in capsys.readouterr().err
    assert Path("units.toml").read_text() == "# mine\n"
    silent = f"http://127.0.0.1:{free_port()}"
    assert carry_out(["unit", "find", silent, "--out", "none.toml"]) == 1
    assert "no units were found" in capsys.readouterr().err
    assert not Path("none.toml").exists()


def test_named_address_that_is_silent_is_listed_and_a_range_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    silent = f"127.0.0.1:{free_port()}"
    with Twin(mac=MACS[0]) as twin:
        port = twin.url.rpartition(":")[2]
        assert carry_out(["unit", "find", "--quick", f"127.0.0.1-3:{port}", silent]) == 1
        said = capsys.readouterr().out
        assert f"http://{silent}: " in said
        assert f"No answer from 2 of 4 addresses: 127.0.0.2-3:{port}\n" in said
        assert carry_out(["unit", "find", "--quick", "--json", twin.url, silent]) == 1
        present, missing = map(msgspec.json.decode, capsys.readouterr().out.splitlines())
        assert (present["answers"], present["is_identified"]) == (True, True)
        assert (missing["address"], missing["answers"]) == (f"http://{silent}", False)
        assert carry_out(["unit", "find", "--quick", f"127.0.0.1-3:{port}"]) == 0


def test_units_that_share_a_name_are_reported() -> None:
    (sentence,) = same_names([unit(0, "Pump"), unit(1, "Pump"), unit(2, "Fan"), unit(3)])
    assert sentence == "2 units have the name Pump: http://192.0.2.0, http://192.0.2.1."
    assert same_names([unit(0, "Pump"), unit(1, "Pump", mac=MACS[0])]) == []


def test_addresses_in_a_row_are_written_as_a_range() -> None:
    rows = [f"http://192.0.2.{number}" for number in (1, 2, 3, 7, 9, 10)]
    assert shorten_addresses([*rows, "https://cellar"]) == (
        "192.0.2.1-3, 192.0.2.7, 192.0.2.9-10, https://cellar"
    )
    many = [f"http://192.0.2.{number}" for number in range(0, 60, 2)]
    assert shorten_addresses(many).endswith(f", {30 - MAX_SHOWN} more")
    assert single_addresses(["192.0.2.1", "192.0.2.2-9", "192.0.3.0/30"]) == ["http://192.0.2.1"]


def test_files_of_units_have_plain_and_distinct_names(tmp_path: Path) -> None:
    units = [InventoryUnit(name, "http://192.0.2.1") for name in ("a/b", "A b", "../c")]
    assert [path.name for path in files_of_units(tmp_path, units).values()] == [
        *("a-b.toml", "A-b-2.toml", "c.toml"),
    ]
    assert plain_name("", "http://192.0.2.1:81") == "unit-192-0-2-1-81"
    assert distinct_names(["a", "A", "a-2", "a"]) == ["a", "A-2", "a-2-2", "a-3"]


def test_another_unit_at_an_address_of_the_inventory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with Twin(mac=MACS[1]) as twin:
        Path("units.toml").write_text(
            f'[units.north]\naddress = "{twin.url}"\nmac = "{MACS[0]}"\nfile = "north.toml"\n'
        )
        Path("north.toml").write_text('[outputs.OUT0]\nname = ""\n')
        for command in (["pull", "--out", "folder"], ["diff"]):
            assert carry_out(["unit", *command, "units.toml"]) == 2
            refusal = capsys.readouterr().err
            assert f"its MAC address is {MACS[1]}, not {MACS[0]}." in refusal
    assert not list(Path("folder").iterdir())


def test_options_of_an_inventory_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["pull", "http://192.0.2.1", "--group", "a"],
        ["diff", "http://192.0.2.1", "--group", "a"],
        ["pull", "http://192.0.2.1", "http://192.0.2.2", "--out", "a.toml"],
        ["diff", "http://192.0.2.1", "b.toml", "--only", "things"],
    ):
        assert carry_out(["unit", *words]) == 2
        assert capsys.readouterr().err
