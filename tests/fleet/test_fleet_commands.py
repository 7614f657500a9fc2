"""`leverframe fleet`: its requests, its output and its exit status."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Self
from urllib.request import urlopen

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.progress import TextColumn

from leverframe.core.durations import moment_words, with_zone, zone_named
from leverframe.fleet.controller_commands import _print_made, table_of
from leverframe.fleet.door import Door
from leverframe.fleet.fleet_file import read_fleet
from leverframe.fleet.jobs.executor import FleetExecutor
from leverframe.fleet.member import UNMADE, NewController
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import MemberRecord
from leverframe.host.command_line.entry import carry_out
from leverframe.host.configuration.reader import Sources
from leverframe.host.controller import Controller
from leverframe.host.controller.snapshot import LiveSnapshot, take_snapshot
from leverframe.testing import Twin
from leverframe.testing.transport import LOOP_THREAD
from tests import effort
from tests.cases import for_each
from tests.fleet.failing import fail
from tests.fleet.loop_node import loop_node
from tests.patience import PATIENCE_S
from tests.ports import free_port, free_ports


class Terminal:
    """Runs commands against a node, and keeps what they print."""

    def __init__(self, node: FleetNode, capsys: pytest.CaptureFixture[str]) -> None:
        self.node = node
        self._capsys = capsys

    def __call__(self, *words: str, ends_with: int = 0) -> str:
        code = carry_out(["fleet", *words, "--node", f"127.0.0.1:{self.node.door.port}"])
        output = self._capsys.readouterr()
        assert code == ends_with, output
        return output.out + output.err

    def json(self, *words: str) -> list[dict[str, object]]:
        return [msgspec.json.decode(line) for line in self(*words, "--json").splitlines()]


@contextmanager
def terminal_of_node(capsys: pytest.CaptureFixture[str], **keys: str) -> Iterator[Terminal]:
    stack = AsyncExitStack()

    async def start() -> FleetNode:
        node = await stack.enter_async_context(loop_node(**keys))
        await node.node.door.listen("127.0.0.1", 0)
        return node.node

    yield Terminal(LOOP_THREAD.run(start()), capsys)
    LOOP_THREAD.run(stack.aclose())


@pytest.fixture
def fleet(capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    with terminal_of_node(capsys) as terminal:
        yield terminal


@pytest.fixture
def in_warsaw(capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    with terminal_of_node(capsys, timezone="Europe/Warsaw") as terminal:
        yield terminal


def test_controllers_are_added_listed_shown_renamed_tagged_and_removed(
    fleet: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leverframe.fleet.controller_commands.AT_A_TIME", 2)
    template = tmp_path / "pump.toml"
    template.write_text('hw = "3.5"\nsw = "1.49"\n[settings]\n"outputs.0.name" = "Pump"\n')
    asked = ("add", "--name", "gh-{n}", "--count", "5", "--template", str(template))
    assert "would be created: 5 (gh-1 to gh-5)" in fleet(*asked, "--dry-run")
    assert "created: 5 (gh-1 to gh-5)" in fleet(*asked, "--tag", "north", "--address", "127.0.1.1")
    assert "A controller named gh-1 exists already" in fleet(*asked, ends_with=2)
    listed = fleet("list", "--tag", "north")
    assert "gh-5" in listed
    assert "3.5/1.49" in listed
    assert "/, 127.0.1.5 " in listed
    assert len(fleet.json("list")) == 5
    assert fleet.json("list", "gh-5")[0]["address"] == "127.0.1.5"
    assert "created: 2 (x-0 to x-1)" in fleet(
        "add", "--name", "x-{n}", "--count", "2", "--first", "0"
    )
    assert "done: 2" in fleet("remove", "x-0", "x-1")
    assert "leverframe: --count: " in fleet(*asked[:2], "x-{n}", "--count", "0", ends_with=2)
    assert "leverframe: --count: " in fleet("fork", "gh-1", "x-{n}", "--count", "0", ends_with=2)
    assert "leverframe: --tag: " in fleet("add", "--name", "x", "--tag", "A B", ends_with=2)
    assert "leverframe: NEW_NAME: " in fleet("rename", "gh-1", "gh-2", ends_with=2)
    assert "leverframe: NEW_NAME: " in fleet("rename", "gh-1", "A B", ends_with=2)
    assert "leverframe: NEW_NAME: " in fleet("fork", "gh-1", "x", "--count", "2", ends_with=2)
    assert "leverframe: --to: " in fleet("advance", "--to", "noon", ends_with=2)
    shown = fleet("show", "gh-3")
    assert 'outputs.0.name = "Pump"' in shown
    assert "time = 2026-01-05 00:00:00 UTC" in shown
    assert fleet.json("show", "gh-3")[0]["settings"] == {"outputs.0.name": "Pump"}
    assert "to cellar, at http://cellar.localhost" in fleet("rename", "gh-1", "cellar")
    assert fleet.json("rename", "cellar", "attic")[0]["name"] == "attic"
    assert "done: 1" in fleet("tag", "attic", "--add", "south", "--remove", "north")
    assert [one["name"] for one in fleet.json("list", "--tag", "south")] == ["attic"]
    assert "done: 4" in fleet("remove", "--tag", "north")
    assert "There is no controller 'gh-2'" in fleet("remove", "gh-2", ends_with=2)
    port = str(free_port())
    assert "created: 1 (one)" in fleet("add", "--name", "one", "--port", port)
    assert f"/, port {port} " in fleet("list", "one")


def test_copies_are_numbered_and_placed_like_new_controllers(fleet: Terminal) -> None:
    fleet("add", "--name", "gh-1")
    port = free_ports(2)[0]
    places = ("--first", "4", "--address", "127.0.1.1", "--port", str(port))
    assert "created: 2 (x-4 to x-5)" in fleet("fork", "gh-1", "x-{n}", "--count", "2", *places)
    (last,) = fleet.json("list", "x-5")
    assert (last["address"], last["port"]) == ("127.0.1.2", port + 1)


def test_place_sets_address_and_port_of_a_controller(fleet: Terminal) -> None:
    fleet("add", "--name", "gh-1")
    port = str(free_port())
    output = fleet("place", "gh-1", "--address", "127.0.1.1", "--port", port)
    assert output.startswith("gh-1 is available at http://gh-1.localhost:")
    assert output.endswith(f"/, 127.0.1.1, port {port}\n")
    assert fleet("place", "gh-1", "--port", "0").endswith("/, 127.0.1.1\n")
    assert fleet.json("place", "gh-1", "--address", "none")[0]["address"] is None


def test_place_assigns_consecutive_addresses_and_ports(fleet: Terminal) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "3")
    port = free_ports(2)[0]
    output = fleet("place", "gh-1", "gh-3", "--address", "127.0.1.9", "--port", str(port))
    first, second = output.splitlines()
    assert first.startswith("gh-1 is available at ")
    assert first.endswith(f"/, 127.0.1.9, port {port}")
    assert second.endswith(f"/, 127.0.1.10, port {port + 1}")
    # A refused place ends the command.
    output = fleet("place", "gh-3", "gh-2", "gh-1", "--address", "127.0.1.8", ends_with=2)
    assert "gh-3 is available at " in output
    assert "--address: gh-2 cannot use 127.0.1.9: gh-1 already uses it." in output
    taken_away = fleet.json("place", "gh-1", "gh-3", "--address", "none", "--port", "0")
    assert [(one["address"], one["port"]) for one in taken_away] == [(None, None)] * 2
    assert "'no' is not a valid address" in fleet(
        "place", "gh-1", "gh-2", "--address", "no", ends_with=2
    )


def test_list_ends_with_the_failed_controllers(
    fleet: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet("add", "--name", "gh-1")
    assert "failed to start" not in fleet("list")
    fleet.node.roster.note_mistake("table 2", "line 5: b.hwx is unknown.")
    fleet.node.roster.note_mistake("table 2", "line 6: b.tags must be a list of texts.")
    one = "  line 5: b.hwx is unknown. line 6: b.tags must be a list of texts.\n"
    assert fleet("list").endswith("leverframe: 1 controller failed to start:\n" + one)
    fail(fleet.node, MemberRecord("c"), UNMADE, "c failed to start: its port is taken.")
    assert "leverframe: 2 controllers failed to start:\n" in fleet("list")
    assert "failed to start" not in fleet("list", "gh-1")
    # A script reads objects from the output; this is on standard error.
    carry_out(["fleet", "list", "--json", "--node", f"127.0.0.1:{fleet.node.door.port}"])
    output = capsys.readouterr()
    assert [msgspec.json.decode(line)["name"] for line in output.out.splitlines()] == ["gh-1"]
    assert "2 controllers failed to start" in output.err


def test_port_in_use_refuses_the_whole_addition(
    fleet: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leverframe.fleet.controller_commands.AT_A_TIME", 2)
    asked = ("add", "--name", "gh-{n}", "--count", "4", "--port")
    taken = free_ports(3)[2]
    with socket.create_server(("127.0.0.1", taken)):
        output = fleet(*asked, str(taken - 2), ends_with=2)
        assert f"gh-3: port {taken} of 127.0.0.1 cannot be used: " in output
        assert fleet.json("list") == []


def test_added_controllers_are_printed_although_the_rest_is_refused(
    fleet: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def there_was_room(*given: object) -> None:
        """Find nothing: the port is taken only after this."""

    monkeypatch.setattr("leverframe.fleet.controller_commands.AT_A_TIME", 2)
    monkeypatch.setattr(Door, "check_place", there_was_room)
    asked = ("add", "--name", "gh-{n}", "--count", "4", "--port")
    taken = free_ports(3)[2]
    with socket.create_server(("127.0.0.1", taken)):
        output = fleet(*asked, str(taken - 2), ends_with=2)
    assert "created: 2 (gh-1 to gh-2)" in output
    assert "gh-3: port " in output


def test_command_with_an_internal_error_ends_with_an_error(
    fleet: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(self: FleetExecutor, *given: object) -> None:
        raise RuntimeError("a fault of the program")

    fleet("add", "--name", "gh-{n}", "--count", "2")
    monkeypatch.setattr(FleetExecutor, "send", fail)
    output = fleet("send", "outs.cgi?out0=1", ends_with=2)
    assert (
        "An internal error stopped the job; see the log. Of 2 controllers, 0 carried out the change"
        in output
    )


def test_refused_command_is_reported_by_name_and_exit_status(fleet: Terminal) -> None:
    many = 997 if effort.THOROUGH else 6
    fleet("add", "--name", "gh-{n}", "--count", str(many), "--tag", "all")
    old = ("--hw", "3.0", "--sw", "1.18", "--tag", "all")
    fleet("add", "--name", "old-{n}", "--count", "3", *old)
    command = ("send", "stm.cgi?eventname=1Frost", "--tag", "all")
    tried = fleet(*command, "--dry-run", ends_with=1)
    assert f"would be done: {many}, would be refused: 3" in tried
    none = fleet(*command, "--all-or-none", ends_with=1)
    assert f"done: 0, refused: 3, held back: {many}" in none
    assert "old-3" in none
    assert "gh-1" not in none
    output = fleet(*command, ends_with=1)
    assert f"done: {many}, refused: 3" in output
    assert all(f"old-{number}" in output for number in (1, 2, 3))
    assert "HW 3.0 SW 1.18" in output
    assert "gh-1" not in output
    assert f"done: {many + 3}, refused: 0" in fleet("send", "outs.cgi?out0=1")
    assert "done: 1" in fleet("send", "post.cgi?sched_save &s0=lamp*0*1*9*0*127*1&&", "gh-1")
    assert [one["status"] for one in fleet.json("send", "outs.cgi?out1=1")] == [200] * (many + 3)
    assert "No controller has the tag 'x'" in fleet(*command, "--tag", "x", ends_with=2)


def test_times_are_printed_and_read_in_the_zone_of_the_node(
    in_warsaw: Terminal,
) -> None:
    fleet = in_warsaw
    fleet("add", "--name", "gh-{n}", "--count", "2")
    output = fleet("advance", "--to", "2026-01-05T06:00")
    assert output == "It is 2026-01-05 06:00:00 CET (Europe/Warsaw)\n"
    fleet("snapshot", "noon")
    fleet("send", "outs.cgi?out0=1")
    fleet("rollout", "plan", "r", "--command", "outs.cgi?out0=1")
    for what, column in (
        *(("list", "time"), ("snapshots", "taken"), ("changes", "when")),
        ("rollout list", "made"),
    ):
        said = fleet(*what.split())
        assert f" {column} (Europe/Warsaw) " in said
        assert " 2026-01-05 06:00:00 CET " in said
    assert "time = 2026-01-05 06:00:00 CET (Europe/Warsaw)" in fleet("show", "gh-1")
    assert fleet.json("list", "gh-1")[0]["time"] == datetime(2026, 1, 5, 5, tzinfo=UTC).timestamp()
    fleet("tag", "gh-2", "--add", "late")
    fleet("advance", "1h", "--tag", "late")
    output = fleet("advance", "0s")
    assert output == "It is 2026-01-05 06:00:00 CET to 2026-01-05 07:00:00 CET (Europe/Warsaw)\n"
    # An hour that comes twice.
    assert "02:30:00 CEST (Europe/Warsaw)" in fleet("advance", "--to", "2026-10-25T02:30")
    assert "02:30:00 CET (Europe/Warsaw)" in fleet("advance", "1h")


def test_step_reports_whether_something_was_due(fleet: Terminal) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2")
    now = "It is 2026-01-05 00:00:00 UTC\n"
    assert fleet("advance", "--step") == f"Nothing was due. {now}"
    assert fleet("advance", "0s") == now
    fleet("send", "outs.cgi?ortime=0600&out0=1", "gh-1")
    output = fleet("advance", "--step")
    assert output.startswith("1 of 2 controllers had tasks due within 10m. It is ")
    fleet("send", "outs.cgi?ortime=0060&out0=1")
    assert fleet.json("advance", "--step")[0]["due"] == 2
    assert fleet.json("advance", "0s")[0]["due"] is None


@for_each("name", ("", "Nowhere/Land", "../etc"))
def test_unknown_time_zone_falls_back_to_utc(name: str) -> None:
    zone = zone_named(name)
    assert with_zone(moment_words(0.0, zone), zone) == "1970-01-01 00:00:00 UTC"


def test_snapshots_are_listed_and_removed(fleet: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.fleet.groups.MAX_LABELS", 2)
    fleet("add", "--name", "gh-{n}", "--count", "2")
    fleet("snapshot", "before")
    fleet("advance", "1h")
    fleet("snapshot", "at noon", "gh-1")
    listed = [line.split("│")[1:-1] for line in fleet("snapshots").splitlines() if "│" in line]
    assert [[cell.strip() for cell in row] for row in listed] == [
        ["before", "2026-01-05 00:00:00 UTC", "2"],
        ["at noon", "2026-01-05 01:00:00 UTC", "1"],
    ]
    assert fleet.json("snapshots")[1]["label"] == "at noon"
    assert "leverframe fleet remove-snapshot" in fleet("snapshot", "third", ends_with=2)
    assert fleet("remove-snapshot", "before") == "removed: before\n"
    assert "done: 2" in fleet("snapshot", "third")
    assert fleet.json("remove-snapshot", "third")[0]["controllers"] == 2
    output = fleet("remove-snapshot", "third", ends_with=2)
    assert "There is no snapshot 'third'. Allowed: at noon." in output


def test_time_snapshots_forks_and_faults(fleet: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2")
    assert "done: 2" in fleet("snapshot", "before")
    assert "It is 2026-01-05 01:00:00 UTC" in fleet("advance", "1h")
    assert "It is 2026-01-06 00:00:00 UTC" in fleet("advance", "--to", "2026-01-06T00:00")
    assert fleet("advance", "--step").startswith("Nothing was due. It is 2026-01-06")
    assert "running at 0.5" in fleet("advance", "--rate", "0.5")
    assert fleet.json("advance", "--freeze")[0]["rate"] == 0
    assert "is not a duration" in fleet("advance", "soon", ends_with=2)
    for place in ("host.terminal", "fleet.controller_commands"):
        monkeypatch.setattr(f"leverframe.{place}.is_watched", lambda: True)
    fleet("advance", "1m")
    assert "done: 2" in fleet("restore", "before")
    assert "created: 2 (c-1 to c-2)" in fleet("fork", "gh-1", "c-{n}", "--count", "2", "--tag", "c")
    assert "done: 2" in fleet("fault", "slow*delay:1s", "--tag", "c")
    assert "done: 4" in fleet("fault", "none")


def test_advance_until_prints_the_time_of_the_moved_controllers(
    fleet: Terminal,
) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2", "--tag", "north")
    fleet("add", "--name", "pump")
    assert "It is 2026-01-05 02:00:00 UTC" in fleet("advance", "2h", "--tag", "north")
    assert [one["time"] for one in fleet.json("list")] == [1767578400.0] * 2 + [1767571200.0]
    output = fleet("advance", "10s")
    assert "It is 2026-01-05 00:00:10 UTC to 2026-01-05 02:00:10 UTC" in output
    output = fleet("advance", "--to", "2026-01-05T01:00", ends_with=2)
    assert "This moment has passed for gh-1 and 1 more" in output
    assert "It is 2026-01-06 00:00:00 UTC" in fleet("advance", "--to", "2026-01-06T00:00")
    assert {one["time"] for one in fleet.json("list")} == {1767657600.0}
    assert "It is 2026-01-06 00:00:00 UTC" in fleet("advance", "--to", "2026-01-06T00:00")
    assert "This moment has passed." in fleet("advance", "--to", "2026-01-05", ends_with=2)


def test_rollout_commands_plan_watch_and_operate(fleet: Terminal, tmp_path: Path) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "3", "--tag", "all")
    fleet("add", "--name", "old", "--hw", "3.0", "--sw", "1.18")
    frost = ("--command", "stm.cgi?eventname=1Frost")
    tried = fleet("rollout", "plan", *frost, "--groups", "1", "--dry-run", ends_with=1)
    assert "would be done: 3, would be refused: 1" in tried
    assert "groups: 1, 3" in tried
    careful = ("--errors", "none", "--success", "0", "--no-health-check", "--no-snapshot")
    fleet("rollout", "plan", "r", *frost, "--groups", "1", "--pause", "1h", *careful, ends_with=1)
    assert "There is a job r already" in fleet("rollout", "plan", "r", *frost, ends_with=2)
    assert "planned" in fleet("rollout", "list")
    assert "stopped" in fleet("rollout", "start", "r") + fleet("rollout", "stop", "r", ends_with=1)
    fleet("rollout", "resume", "r")
    shown = ""
    for _ in range(1000):
        shown = str(fleet.json("rollout", "show", "r")[0]["status"])
        if shown == "finished":
            break
    output = fleet("rollout", "show", "r", ends_with=1)
    assert "finished, 3 done, 1 failed" in output
    assert "group 2: 2 of 3, 1 failed" in output
    assert "HW 3.0 SW 1.18" in output
    assert [one["id"] for one in fleet.json("rollout", "list")] == ["r"]
    fleet("rollout", "remove", "r", ends_with=1)
    assert "There is no job 'r'" in fleet("rollout", "show", "r", ends_with=2)
    assert "start needs the ID" in fleet("rollout", "start", ends_with=2)
    assert "either --command or --template" in fleet("rollout", "plan", ends_with=2)
    template = tmp_path / "pump.toml"
    template.write_text('hw = "3.5"\nsw = "1.49"\n[settings]\n"outputs.0.name" = "Pump"\n')
    planned = fleet("rollout", "plan", "--template", str(template), "--name", "gh-1")
    assert "leverframe fleet rollout start" in planned


def test_drift_and_changes_show_differences_and_users(fleet: Terminal, tmp_path: Path) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "3", "--tag", "all")
    fleet("add", "--name", "old", "--hw", "3.0", "--sw", "1.18")
    template = tmp_path / "pump.toml"
    template.write_text(
        'hw = "3.9"\nsw = "1.75"\n[settings]\n'
        '"outputs.0.name" = "Pump"\n"outputs.1.name" = ""\n"outputs.2.remember" = true\n'
    )
    compare = ("drift", "--template", str(template))
    fleet("send", "stm.cgi?oname=0Pump", "gh-1", "gh-2")
    fleet("send", "stm.cgi?oname=1Fan", "gh-2")
    output = fleet(*compare, ends_with=1)
    assert "gh-1: differs in 1 setting\n" in output
    assert 'gh-2: differs in 2 settings\n  outputs.1.name = "Fan", not ""' in output
    assert "old: cannot be compared: The template sets outputs.2.remember" in output
    assert "same: 0, different: 4" in output
    assert fleet("rollout", "plan", "r", "--template", str(template), "--tag", "all")
    fleet("rollout", "start", "r")
    for _ in range(1000):
        if fleet.json("rollout", "show", "r")[0]["status"] == "finished":
            break
    assert "same: 3, different: 0" in fleet(*compare, "--tag", "all")
    assert [one["status"] for one in fleet.json(*compare, "gh-1")] == [200]

    changed = fleet("changes")
    assert 'outputs.1.name: "" -> "Fan"' in changed
    found = fleet.json("changes", "gh-2")
    assert {one["name"] for one in found} == {"gh-2"}
    assert len(found) == 3
    assert found[0]["entry"]["account"] == "fleet"  # type: ignore[index]
    assert len(fleet.json("changes", "--count", "1", "--by", "fleet")) == 1
    assert fleet.json("changes", "--by", "anna") == []
    assert len(fleet.json("changes", "--since", "1h")) == 6
    assert fleet.json("changes", "--since", "2099-01-01T00:00") == []
    assert "'soon' is not a time" in fleet("changes", "--since", "soon", ends_with=2)


def export_two(fleet: Terminal, folder: Path) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2", "--tag", "north", "--hw", "3.5")
    fleet("send", "stm.cgi?oname=0Pump", "gh-2")
    assert "2 controllers written to" in fleet("export", str(folder))


def test_export_is_a_fleet_file_with_settings(fleet: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    export_two(fleet, folder)
    assert "choose another name" in fleet("export", str(folder), ends_with=2)
    read = read_fleet(Sources(folder / "fleet.toml", {}, {}))
    assert read.mistakes == []
    assert [one.record.name for one in read.controllers] == ["gh-1", "gh-2"]
    assert read.controllers[1].record.tags == ("north",)
    assert read.controllers[1].profile.hw == "3.5"
    assert read.controllers[1].leaves == {"outputs.0.name": "Pump"}


class Bar:
    """Notes what would be shown in a terminal."""

    def __init__(self) -> None:
        self.shown: list[tuple[int, int | None]] = []
        self.is_half_way = threading.Event()

    def __call__(self, *columns: TextColumn, **how: object) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Show nothing more."""

    def add_task(self, text: str, total: int | None) -> int:
        return 0

    def update(
        self, task: int, advance: int = 0, completed: int = 0, total: int | None = None
    ) -> None:
        self.shown.append((completed + advance, total))
        if completed:
            self.is_half_way.set()


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Bar:
    """Watch progress at a terminal."""
    shown = Bar()
    for place in ("host.terminal", "fleet.controller_commands"):
        monkeypatch.setattr(f"leverframe.{place}.is_watched", lambda: True)
    monkeypatch.setattr("rich.progress.Progress", shown)
    monkeypatch.setattr("leverframe.fleet.client.LOOK_S", 0.001)
    return shown


def test_progress_is_shown_on_a_terminal(
    fleet: Terminal, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2")

    async def take(controller: Controller) -> LiveSnapshot:
        if len(taken) == 1:
            # Half of it is done, and the other half waits until that is shown.
            assert await asyncio.to_thread(bar.is_half_way.wait, 30)
        taken.append(await take_snapshot(controller))
        return taken[-1]

    taken: list[LiveSnapshot] = []
    monkeypatch.setattr("leverframe.fleet.groups.take_snapshot", take)
    bar.shown.clear()
    assert "done: 2" in fleet("snapshot", "noon")
    assert (1, 2) in bar.shown


def test_export_shows_progress_of_files_on_a_terminal(
    fleet: Terminal, bar: Bar, tmp_path: Path
) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2")
    bar.shown.clear()
    fleet("export", str(tmp_path / "out"))
    assert bar.shown[-2:] == [(1, None), (1, None)]


def test_refusal_is_printed_also_on_a_terminal(fleet: Terminal, bar: Bar) -> None:
    assert "No controller has the tag 'x'" in fleet("send", "a.cgi", "--tag", "x", ends_with=2)


def test_export_lists_written_files_as_json(fleet: Terminal, tmp_path: Path) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2")
    folder = tmp_path / "out"
    assert fleet.json("export", str(folder), "gh-2") == [
        {
            "name": "gh-2",
            "settings": str(folder / "gh-2.toml"),
            "fleet": str(folder / "fleet.toml"),
        }
    ]
    assert (folder / "gh-2.toml").is_file()


@pytest.fixture
def north_and_south(fleet: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.chdir(tmp_path)
    fleet("add", "--name", "gh-1", "--tag", "north")
    fleet("add", "--name", "pump", "--tag", "south")
    return fleet


@for_each(
    "words",
    [
        ("send", "outs.cgi?out0=1", "gh-1"),
        ("send", "outs.cgi?out0=1", "gh-1", "--dry-run", "--json"),
        ("snapshot", "noon", "gh-1"),
        ("fault", "none", "gh-1"),
        ("tag", "gh-1", "--add", "x"),
        ("remove", "gh-1"),
        ("export", "out", "gh-1"),
        ("advance", "1h", "--tag", "north"),
    ],
)
def test_command_that_matches_no_controller_fails(
    north_and_south: Terminal, words: tuple[str, ...], tmp_path: Path
) -> None:
    output = north_and_south(*words, "--tag", "south", ends_with=2)
    assert output == ("leverframe: No controller matches these names and tags.\n")
    assert list(tmp_path.iterdir()) == []


def test_command_to_a_node_without_controllers_fails(fleet: Terminal) -> None:
    assert "No controller exists." in fleet("send", "outs.cgi?out0=1", ends_with=2)


@pytest.mark.thorough
def test_node_of_a_file_runs_as_a_process_until_stopped(fleet: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    export_two(fleet, folder)
    with (folder / "fleet.toml").open("a") as file:
        file.write('[[controllers]]\nname = "WRONG"\n')
    port = free_port()
    node = subprocess.Popen(
        [
            *(sys.executable, "-m", "leverframe", "fleet", "run", "--json", "--virtual-time"),
            *("--config", "fleet.toml", "--port", str(port), "--data", str(tmp_path / "data")),
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert node.stdout is not None
        ready = msgspec.json.decode(node.stdout.readline())
        assert (ready["controllers"], ready["failed"]) == (2, 1)
        with urlopen(f"http://127.0.0.1:{port}/api/fleet/show?name=gh-2") as reply:
            shown = msgspec.json.decode(reply.read())
        assert shown["settings"] == {"outputs.0.name": "Pump"}
        assert (shown["report"]["hw"], shown["report"]["tags"]) == ("3.5", ["north"])
        node.send_signal(signal.SIGTERM)
        _, errors = node.communicate(timeout=PATIENCE_S)
        assert node.returncode == 0
        assert "'WRONG' is not a valid name" in errors
    finally:
        node.kill()


def test_unreachable_node_is_reported(
    fleet: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for node, message in (
        (f"127.0.0.1:{free_port()}", "does not answer: Connection refused"),
        ("ftp://x", "is not the address of a node"),
        ("http://x:y", "is not the address of a node"),
    ):
        assert carry_out(["fleet", "list", "--node", node]) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", StringIO("secret\n"))
    assert fleet("list", "--user", "admin")


def test_failed_controllers_are_retried(fleet: Terminal) -> None:
    assert fleet("start").startswith("Nothing to start")
    port = free_port()
    fleet("add", "--name", "gh-{n}", "--count", "2")
    fleet("place", "gh-1", "--port", str(port))
    member, node = fleet.node.members["gh-1"], fleet.node
    LOOP_THREAD.run(node.drop([member]))
    with socket.create_server(("127.0.0.1", port)):
        LOOP_THREAD.run(node.start_stored())
        assert f"gh-1 failed to start: port {port} of" in fleet("start", "gh-1", ends_with=1)
        assert fleet("list").endswith("\n`leverframe fleet start` retries them.\n")
        message = "This controller failed to start. gh-1 failed to start: "
        assert message in fleet("show", "gh-1", ends_with=2)
    assert fleet("start", "gh-2", "gh-1") == "gh-2 is already running.\ngh-1 is running now.\n"
    assert fleet.json("start", "gh-1")[0]["status"] == 200
    assert "There is no controller 'gh-9'" in fleet("start", "gh-9", ends_with=2)


def test_start_prints_the_first_administrator_password(fleet: Terminal) -> None:
    fleet("add", "--name", "cellar")
    node = fleet.node
    member = node.members["cellar"]
    LOOP_THREAD.run(node.drop([member]))
    fail(node, member.record, member.number, "cellar failed to start: no.")
    node.options = replace(node.options, must_sign_in=True)
    runs, password = fleet("start").splitlines()
    assert runs == "cellar is running now."
    assert re.fullmatch(
        r"Its administrator has the password [\w-]+, which is shown only once\.", password
    )


def test_rename_of_a_controller_in_the_file_warns_of_the_next_start(fleet: Terminal) -> None:
    fleet("add", "--name", "cellar")
    profile = fleet.node.members["cellar"].controller.profile
    fleet.node.in_file = {"cellar": NewController(MemberRecord("cellar"), profile)}
    message = "Remove cellar from the file of the node, or the next start creates an empty"
    assert message in fleet("rename", "cellar", "depot")
    assert "Remove" not in fleet("rename", "depot", "store")


def test_password_is_typed_or_read_from_standard_input(
    fleet: Terminal, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    made = fleet.json("account", "add", "anna")[0]
    password = str(made["password"])
    monkeypatch.setattr("sys.stdin", StringIO(f"{password}\n"))
    assert fleet.json("list", "--user", "anna") == []
    output = fleet("list", "--user", "anna", ends_with=2)
    assert "Password of anna: the value is missing; type it at a terminal" in output
    monkeypatch.setattr("sys.stdin", None)
    assert "Password of anna: the value is missing" in fleet("list", "--user", "anna", ends_with=2)
    terminal = StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("getpass.getpass", {"Password of anna: ": password}.__getitem__)
    assert fleet.json("list", "--user", "anna") == []
    assert not recwarn.list


def test_address_that_is_not_a_node_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with Twin() as twin:
        assert carry_out(["fleet", "list", "--node", twin.url]) == 2
        assert "There is nothing at this path" in capsys.readouterr().err


def test_password_of_new_administrators_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    made = {"names": ["gh-1", "gh-2"], "dry_run": False, "password": "abc-def"}
    _print_made([made], as_json=False)
    output = capsys.readouterr().out
    assert "The administrators of gh-1 to gh-2 have the password abc-def" in output


def test_tenants_and_accounts_are_created_used_and_removed(
    fleet: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "created: acme" in fleet("tenant", "add", "acme", "--max", "2")
    assert "created: zulu" in fleet("tenant", "add", "zulu")
    fleet("add", "--name", "acme-1", "--tenant", "acme")
    fleet("add", "--name", "house")
    assert "done: 1" in fleet("tenant", "give", "zulu", "house")
    assert fleet.json("tenant", "give", "", "house")[0]["status"] == 200
    assert "tenant" in fleet("list")
    assert "2" in fleet("tenant", "list")
    assert fleet.json("tenant", "list")[0]["max_controllers"] == 2
    fleet("export", str(tmp_path / "all"))
    exported = read_fleet(Sources(tmp_path / "all" / "fleet.toml", {}, {}))
    assert (exported.mistakes, exported.tenants) == ([], ("acme",))
    assert [one.record.tenant for one in exported.controllers] == ["acme", ""]
    output = fleet("account", "add", "anna", "--tenant", "acme")
    assert "anna, user of acme, has the password" in output
    anna = output.split()[7]
    admin = output.split("is admin with the password ")[1].split()[0]

    def types(password: str) -> None:
        monkeypatch.setattr("leverframe.fleet.client.ask_secret", lambda _: password)

    types(anna)
    unsigned = "This node requires a user name and a password. Sign in with --user NAME."
    assert unsigned in fleet("list", ends_with=2)
    assert [one["name"] for one in fleet.json("list", "--user", "anna")] == ["acme-1"]
    assert "There is no controller 'house'" in fleet("list", "house", "--user", "anna", ends_with=2)
    assert "Only the administrator" in fleet("tenant", "list", "--user", "anna", ends_with=2)
    assert "anna, user of acme" in fleet("account", "password", "--user", "anna")
    types("not this one")
    assert "password is wrong.\n" in fleet("list", "--user", "anna", ends_with=2)
    types(admin)
    as_admin = ("--user", "admin")
    assert "anna" in fleet("account", "list", *as_admin)
    assert "of the operator" in fleet("account", "add", "olga", *as_admin)
    assert "(the operator)" in fleet("account", "list", *as_admin)
    assert fleet.json("account", "list", *as_admin)[0]["tenant"] == "acme"
    assert "acme has 1 controllers and 1 accounts" in fleet(
        "tenant", "remove", "acme", *as_admin, ends_with=2
    )
    assert "removed: anna" in fleet("account", "remove", "anna", *as_admin)
    assert "removed: zulu" in fleet("tenant", "remove", "zulu", *as_admin)
    assert "needs the NAME of a tenant" in fleet("tenant", "add", ends_with=2)
    assert "needs the NAME of an account" in fleet("account", "add", ends_with=2)


def test_first_account_closes_open_controllers_or_leaves_them_open_on_demand(
    fleet: Terminal,
) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2")
    output = fleet("tenant", "add", "acme", "--open")
    assert "created: acme\n2 controllers are open to every user of the node's machine." in output
    output = fleet("protect", "gh-1")
    assert "The administrator of gh-1 has the password " in output
    assert "shown only once" in output
    assert fleet("tenant", "add", "acme").count("1 controller is open to every user") == 1
    (result,) = fleet.json("protect", "gh-2")
    assert result["password"]
    assert "password" not in fleet("protect")
    assert "have the password" in fleet("add", "--name", "new-1")
    assert "password" not in fleet("add", "--name", "new-2", "--open")


def test_first_account_prints_the_passwords_of_administrators(fleet: Terminal) -> None:
    fleet("add", "--name", "gh-{n}", "--count", "2")
    output = fleet("account", "add", "anna")
    assert "The administrators of gh-1, gh-2 have the password " in output


def test_table_on_a_narrow_terminal_is_not_cut() -> None:
    table = table_of("node", "inner address")
    table.add_row("north", "127.0.0.1:44383")
    console = Console(width=20, file=StringIO())
    console.print(table)
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "…" not in shown
    assert sorted(filter(str.isdigit, shown)) == sorted(filter(str.isdigit, "127.0.0.1:44383"))
