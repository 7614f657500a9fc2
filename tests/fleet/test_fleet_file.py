"""The fleet file: what it creates, and mistakes shown by name and line while the rest starts."""

import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from leverframe.fleet.fleet_file import FleetFile, read_fleet
from leverframe.fleet.member import Member, NewController
from leverframe.fleet.serve import start_controllers
from leverframe.host.configuration import BadConfiguration
from leverframe.host.configuration.reader import Sources
from leverframe.storage.lanes.lane import MemoryLane
from tests.fleet.loop_node import loop_node
from tests.ports import free_port

GOOD = """\
port = 8090
virtual_time = true

[[controllers]]
name = "cellar"
tags = ["north", "cold"]
hw = "3.5"
sw = "1.49"
settings = "cellar.toml"
address = "127.0.0.2"

[[controllers]]
name = "attic"
"""
CELLAR = 'hw = "3.5"\nsw = "1.49"\n\n[settings]\n"outputs.0.name" = "Pump"\n'


def read(folder: Path, text: str, **files: str) -> FleetFile:
    for name, content in files.items():
        (folder / f"{name}.toml").write_text(content, encoding="utf-8")
    (folder / "fleet.toml").write_text(text, encoding="utf-8")
    return read_fleet(Sources(folder / "fleet.toml", {}, {}))


async def test_controllers_start_as_the_fleet_file_says(tmp_path: Path) -> None:
    fleet = read(tmp_path, GOOD, cellar=CELLAR)
    assert (fleet.config.port, fleet.mistakes) == (8090, [])
    async with loop_node() as node:
        assert await start_controllers(node.web, fleet.controllers, as_json=False) == []
        cellar, attic = await node.get("list")
        assert (cellar["hw"], cellar["tags"]) == ("3.5", ["cold", "north"])
        assert (cellar["address"], attic["hw"]) == ("127.0.0.2", "3.9")
        assert node.member("cellar").controller.engine.settings.outputs[0].name == "Pump"


async def test_fleet_file_applies_at_the_next_start_and_settings_stay(
    tmp_path: Path,
) -> None:
    lane, fleet = MemoryLane(), read(tmp_path, GOOD, cellar=CELLAR)
    async with loop_node(lane) as node:
        await start_controllers(node.web, fleet.controllers, as_json=False)
        await node.post("send", command="stm.cgi?oname=0Fan", name="cellar")
        await node.post("add", name="added")
    other = read(tmp_path, GOOD.replace('"cold"', '"warm"'), cellar=CELLAR)
    async with loop_node(lane) as again:
        assert await start_controllers(again.web, other.controllers, as_json=False) == []
        assert [one["name"] for one in await again.get("list")] == ["cellar", "attic", "added"]
        assert again.member("cellar").record.tags == ("north", "warm")
        assert again.member("cellar").controller.engine.settings.outputs[0].name == "Fan"


async def test_renamed_controller_of_the_file_is_created_again_with_a_warning(
    tmp_path: Path,
) -> None:
    lane, fleet = MemoryLane(), read(tmp_path, GOOD, cellar=CELLAR)
    async with loop_node(lane) as node:
        await start_controllers(node.web, fleet.controllers, as_json=False)
        assert (await node.post("rename", name="cellar", to="depot"))["is_made_anew"]
        assert not (await node.post("rename", name="depot", to="store"))["is_made_anew"]
        await node.post("add", name="added")
        assert not (await node.post("rename", name="added", to="other"))["is_made_anew"]
    without_address = [one for one in fleet.controllers if one.record.name == "attic"]
    async with loop_node(lane) as again:
        await start_controllers(again.web, without_address, as_json=False)
        names = [one["name"] for one in await again.get("list")]
        assert names == ["store", "attic", "other"]
        assert (await again.post("rename", name="attic", to="roof"))["is_made_anew"]
    async with loop_node(lane) as at_last:
        await start_controllers(at_last.web, without_address, as_json=False)
        names = [one["name"] for one in await at_last.get("list")]
        assert names == ["store", "roof", "other", "attic"]


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        (
            'name = "cellar"',
            5,
            "cellar: A controller named cellar exists already; choose another name.",
        ),
        ('name = "b"\ntags = "north"', 6, "b.tags must be a list of strings, not 'north'."),
        ('name = "b"\nhw = "4.0"', 6, "b: Unknown hardware '4.0'"),
        ('name = "b"\nhw = "3.5"\nsw = "9.9"', 7, "b: "),
        ('name = "b"\ntags = ["no tag"]', 6, "'no tag' is not a valid tag"),
        ('name = "b-{n}"\ncount = 2\nport = 65535', 7, "65536 is not a valid port"),
        ('name = "b"\nsettings = "none.toml"', 6, "none.toml cannot be read"),
        ('name = "b"\nhwx = "3.0"', 6, "Unknown key b.hwx. Did you mean hw?"),
        ('name = "B"', 5, "'B' is not a valid name"),
        (
            'tags = ["a"]',
            4,
            "name is missing in controller 2; it must be a string of at least one character.",
        ),
        ('name = "b"\naddress = "no"', 6, "is not a valid address for a controller"),
        ('name = "b"\nboard = { kind = "linux" }', 6, "Virtual time needs simulated boards"),
        (
            'name = "b"\nhw = "3.0"\nsw = "1.18"\nsettings = "new.toml"',
            8,
            "b: The template sets ui.user_read_only, which HW 3.0 SW 1.18 does not support. ",
        ),
    ],
)
async def test_mistake_in_a_controller_is_reported_and_the_others_start(
    table: str, line: int, message: str, tmp_path: Path
) -> None:
    text = (
        'virtual_time = true\n[[controllers]]\nname = "cellar"\n[[controllers]]\n'
        + table
        + '\n[[controllers]]\nname = "last"\n'
    )
    new = 'hw = "3.9"\nsw = "1.75"\n\n[settings]\n"ui.user_read_only" = true\n'
    fleet = read(tmp_path, text, new=new)
    (mistake,) = (one.sentence for one in fleet.mistakes)
    assert f"fleet.toml, line {line}: " in mistake
    assert message in mistake
    assert [one.record.name for one in fleet.controllers] == ["cellar", "last"]


def test_mistake_in_one_of_a_thousand_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    tables = [f'[[controllers]]\nname = "gh-{number}"\n' for number in range(1000)]
    tables[700] = '[[controllers]]\nname = "gh-699"\n'
    fleet = read(tmp_path, "".join(tables))
    (mistake,) = (one.sentence for one in fleet.mistakes)
    assert "fleet.toml, line 1402: gh-699: " in mistake
    assert "A controller named gh-699 exists already; choose another name." in mistake
    assert len(fleet.controllers) == 999


def test_duplicate_port_is_reported_with_its_line(tmp_path: Path) -> None:
    table = '[[controllers]]\nname = "{}"\nport = 8091\n'
    fleet = read(tmp_path, table.format("a") + table.format("b"))
    (mistake,) = (one.sentence for one in fleet.mistakes)
    assert mistake.endswith("fleet.toml, line 6: b: b cannot use 8091: a already uses it.")


def test_conflict_within_a_count_is_reported_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    text = (
        '[[controllers]]\nname = "gh-3"\nport = 9002\n'
        '[[controllers]]\nname = "gh-{n}"\ncount = 4\nport = 9001\n'
    )
    fleet = read(tmp_path, text)
    by_port, by_name = (one.sentence for one in fleet.mistakes)
    assert by_port.endswith("fleet.toml, line 7: gh-2: gh-2 cannot use 9002: gh-3 already uses it.")
    assert by_name.endswith(
        "fleet.toml, line 5: gh-3: A controller named gh-3 exists already; choose another name."
    )
    assert [one.record.name for one in fleet.controllers] == ["gh-3", "gh-1", "gh-4"]


async def test_port_in_use_is_reported_and_the_others_start(tmp_path: Path) -> None:
    async with loop_node() as node:
        await node.node.door.listen("127.0.0.1", 0)
        taken = node.node.door.port
        text = f'[[controllers]]\nname = "a"\nport = {taken}\n[[controllers]]\nname = "b"\n'
        fleet = read(tmp_path, text)
        (problem,) = await start_controllers(node.web, fleet.controllers, as_json=False)
        assert "fleet.toml, line 3: " in problem
        assert f": a failed to start: port {taken} of 127.0.0.1 cannot be used" in problem
        assert [one["name"] for one in await node.get("list")] == ["b"]
        assert (await node.get(""))["not_started"] == [problem]


async def test_controllers_beside_a_failed_one_are_created_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[[controllers]]\nname = "gh-{n}"\ncount = 20\n[[controllers]]\nname = "a"\nport = '
    async with loop_node() as node:
        await node.node.door.listen("127.0.0.1", 0)
        fleet = read(tmp_path, f"{text}{node.node.door.port}\n")
        batches = []
        add = node.node.add

        async def count_and_add(new: Sequence[NewController]) -> list[Member]:
            batches.append(len(new))
            return await add(new)

        monkeypatch.setattr(node.node, "add", count_and_add)
        (problem,) = await start_controllers(node.web, fleet.controllers, as_json=False)
        assert "fleet.toml, line 6: a failed to start: port " in problem
        assert batches == [20]


async def test_port_taken_since_then_is_reported_at_the_next_start(tmp_path: Path) -> None:
    lane, port = MemoryLane(), free_port()
    text = f'[[controllers]]\nname = "a"\nport = {port}\n[[controllers]]\nname = "b"\n'
    fleet = read(tmp_path, text)
    async with loop_node(lane) as node:
        await node.node.door.listen("127.0.0.1", 0)
        assert await start_controllers(node.web, fleet.controllers, as_json=False) == []
    with socket.create_server(("127.0.0.1", port)):
        async with loop_node(lane) as again:
            await again.node.door.listen("127.0.0.1", 0)
            (problem,) = await start_controllers(again.web, fleet.controllers, as_json=False)
            assert "fleet.toml, line 3: " in problem
            assert f": a failed to start: port {port} of 127.0.0.1 cannot be used" in problem
            assert [one["name"] for one in await again.get("list")] == ["b"]
            overview = await again.get("")
            assert overview["not_started"] == overview["troubles"] == [problem]


async def test_address_of_an_added_controller_is_reported_at_the_next_start(tmp_path: Path) -> None:
    lane, text = MemoryLane(), '[[controllers]]\nname = "a"\naddress = "127.0.0.{}"\n'
    async with loop_node(lane) as node:
        before = read(tmp_path, text.format(2)).controllers
        await start_controllers(node.web, before, as_json=False)
        await node.post("add", name="added", address="127.0.0.3")
    async with loop_node(lane) as again:
        after = read(tmp_path, text.format(3)).controllers
        (problem,) = await start_controllers(again.web, after, as_json=False)
        sentence = (
            "a runs without its own address and port: a cannot use 127.0.0.3: added"
            " already uses it."
        )
        assert problem.endswith(f"fleet.toml, line 3: {sentence}")
        assert [one["address"] for one in await again.get("list")] == [None, "127.0.0.3"]
        overview = await again.get("")
        assert (overview["not_started"], overview["troubles"]) == ([], [problem])
        await again.post("add", name="third")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"\n', "fleet.toml, line 1: unknown key name for a node. Known keys: host, port"),
        ("controllers = 3\n", "fleet.toml, line 1: write controllers as [[controllers]]"),
        ("prot = 8090\n", "fleet.toml, line 1: Unknown key prot. Did you mean port?"),
        ("at = 3\n", "fleet.toml, line 1: Unknown key at. Did you mean data?"),
    ],
)
def test_mistake_in_node_keys_refuses_the_fleet_file(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadConfiguration, match=".") as refused:
        read(tmp_path, text)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("controllers", "command"),
    [(GOOD, "leverframe fleet simulate --config {file}`"), ("", "leverframe simulate {file}`")],
)
def test_running_a_scenario_names_the_simulate_command(
    controllers: str, command: str, tmp_path: Path
) -> None:
    with pytest.raises(BadConfiguration, match="make this a scenario") as refused:
        read(tmp_path, f'{controllers}[[at]]\ntime = "06:00"\n')
    assert command.format(file=tmp_path / "fleet.toml") in str(refused.value)


@pytest.mark.parametrize("as_json", [False, True])
async def test_first_password_of_file_controllers_is_shown_once(
    as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lane, fleet = MemoryLane(), read(tmp_path, GOOD, cellar=CELLAR)
    for is_first in (True, False):
        async with loop_node(lane, host="0.0.0.0") as node:
            await start_controllers(node.web, fleet.controllers, as_json=as_json)
            assert node.member("attic").controller.engine.settings.access.required
        assert ("password" in capsys.readouterr().out) is is_first


def test_interval_of_live_state_is_checked(tmp_path: Path) -> None:
    text = '[cluster]\ndatabase = "dbname=fleet"\nlive_state_every = {}\n'
    fleet = read(tmp_path, text.format(1))
    assert fleet.cluster is not None
    assert fleet.cluster.live_state_every == 1
    for wrong in ("0", "61", "true", '"often"'):
        with pytest.raises(BadConfiguration, match=r"fleet.toml, line 3: .*live_state_every"):
            read(tmp_path, text.format(wrong))
    assert read(tmp_path, '[cluster]\ndatabase = "dbname=fleet"\n').cluster is not None


def test_each_invalid_controller_counts_once_with_all_its_mistakes(
    tmp_path: Path,
) -> None:
    cellar = '[[controllers]]\nname = "cellar"\n'
    twice_wrong = '[[controllers]]\nname = "b"\nhwx = "3.0"\ntags = 1\n'
    fleet = read(tmp_path, cellar + twice_wrong + cellar + cellar)
    assert len(fleet.mistakes) == 4
    assert len({one.who for one in fleet.mistakes}) == 3
