"""Inventories: units with what their groups say, and every mistake with its line."""

from pathlib import Path

import pytest

from leverframe.units.file_keys import BadUnitFile
from leverframe.units.inventory import load_inventory
from tests.units.unit_files import write_unit_file

INVENTORY = """\
secrets = "secrets.toml"

[groups.all]
user = "admin"
password = { secret = "shared" }
values = { zone = "nowhere", fan = "OUT1" }

[groups.greenhouses]
file = "greenhouse.toml"
values = { zone = "garden" }

[units.north]
address = "http://192.168.1.10/"
groups = ["all", "greenhouses"]
mac = "d8-80-39-12-34-56"
values = { zone = "north" }

[units.south]
address = "https://192.168.1.11:8443"
groups = ["all"]
password = { env = "SOUTH_PASSWORD" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOUTH_PASSWORD", "of south")
    write_unit_file(tmp_path, 'shared = "of all"\nmail = "of mail"\n', "secrets.toml").chmod(0o600)
    write_unit_file(
        tmp_path,
        'name = "House ${zone}"\n[email]\npassword = { secret = "mail" }\n',
        "greenhouse.toml",
    )
    return tmp_path


def list_mistakes(path: Path) -> list[str]:
    with pytest.raises(BadUnitFile) as error:
        load_inventory(path)
    return [line.removeprefix(f"{path.parent}/") for line in str(error.value).splitlines()]


def test_unit_has_what_its_groups_say_and_its_own_over_it(folder: Path) -> None:
    north, south = load_inventory(write_unit_file(folder, INVENTORY, "units.toml")).units
    assert (north.name, north.address) == ("north", "http://192.168.1.10")
    assert (north.mac, north.user, north.password) == ("D8:80:39:12:34:56", "admin", "of all")
    assert north.values == {"zone": "north", "fan": "OUT1"}
    assert north.file == folder / "greenhouse.toml"
    assert (south.password, south.file, south.mac) == ("of south", None, "")


def test_file_of_a_unit_is_read_with_its_values_and_secrets(folder: Path) -> None:
    inventory = load_inventory(write_unit_file(folder, INVENTORY, "units.toml"))
    wanted = inventory.read_file(inventory.units[0])
    assert wanted is not None
    assert wanted.settings.name == "House north"
    assert wanted.settings.email.password == "of mail"
    assert inventory.read_file(inventory.units[1]) is None


def test_units_are_chosen_by_name_address_or_group(folder: Path) -> None:
    inventory = load_inventory(write_unit_file(folder, INVENTORY, "units.toml"))
    north, south = inventory.units
    assert inventory.select() == [north, south]
    assert inventory.select(("south",)) == [south]
    assert inventory.select(("http://192.168.1.10",)) == [north]
    assert inventory.select(group="greenhouses") == [north]
    with pytest.raises(BadUnitFile, match="Unknown unit `souht`. Did you mean `south`"):
        inventory.select(("souht",))
    with pytest.raises(
        BadUnitFile,
        match=r"Unknown group `green`. Did you mean `greenhouses`\? Allowed: greenhouses, all",
    ):
        inventory.select(group="green")


@pytest.mark.parametrize(
    ("lines", "number", "sentence"),
    [
        (
            '[units.x]\naddress = "http://192.168.1.11:1"\nmca = "1"',
            3,
            "Unknown key `units.x.mca`. Did you mean `mac`",
        ),
        ('[units.x]\naddress = "http://a"\ngroups = [["all"]]', 3, "must be a list such as"),
        ("[units.x]", 1, "units.x has no address; add one such as"),
        ("units.x = 1", 1, "units.x must be a table: [units.x]."),
        ('[units.x]\naddress = "192.168.1.1"', 2, "units.x.address is not the address"),
        ('[units.x]\naddress = "http://a:0/"', 2, "units.x.address is not the address"),
        ('[units.x]\naddress = "http://a:b/"', 2, "units.x.address is not the address"),
        ('[units.x]\naddress = "http://a/path"', 2, "units.x.address is not the address"),
        ('[units.x]\naddress = "http://a b"', 2, "units.x.address is not the address"),
        ('[units.x]\naddress = "http://a\\u001b"', 2, "units.x.address is not the address"),
        ("[units.x]\naddress = 5", 2, "units.x.address must be an address such as"),
        ('[units.x]\naddress = "http://admin:hush@host"', 2, "without user, password or"),
        ('[units.x]\naddress = "http://a"\ngroups = ["al"]', 3, "units.x: Unknown group `al`. "),
        ('[units.x]\naddress = "http://a"\nmac = "12"', 3, "must be six bytes such as"),
        ('[units.x]\naddress = "http://a"\npassword = "hush"', 3, 'must be { env = "NAME" }'),
        ('[units.x]\naddress = "http://a"\npassword = { env = "NO" }', 3, "variable NO, which"),
        ("[groups.b]\nfile = 3", 2, "groups.b.file must be the name of a unit file"),
        ('secrets = "nowhere.toml"\n[units]', 1, "nowhere.toml cannot be read"),
    ],
)
def test_mistake_in_an_inventory_is_reported_with_its_line(
    folder: Path, lines: str, number: int, sentence: str
) -> None:
    text = f'{lines}\n[groups.all]\nuser = "admin"\n'
    (found,) = list_mistakes(write_unit_file(folder, text, "units.toml"))
    assert found.startswith(f"units.toml, line {number}: ")
    assert sentence in found
    assert "hush" not in found


@pytest.mark.parametrize("field", ["mac", "address"])
def test_two_units_with_the_same_address_are_reported(folder: Path, field: str) -> None:
    same = {"mac": "D8:80:39:12:34:56", "address": "http://192.168.1.10"}
    text = ""
    for name in ("north", "south"):
        keys = {"address": f"http://{name}", field: same[field]}
        lines = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
        text += f"[units.{name}]\n{lines}"
    (found,) = list_mistakes(write_unit_file(folder, text, "units.toml"))
    number = 6 if field == "mac" else 4
    assert found == (
        f"units.toml, line {number}: units.south has the same {field} as units.north,"
        f" {same[field]}; it must be unique."
    )
