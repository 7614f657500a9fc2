"""The library: what `leverframe` exports, and boards that other packages bring."""

import inspect
import subprocess
import sys
from collections.abc import MutableMapping
from datetime import UTC
from pathlib import Path

import pytest

import leverframe
from docs._ext.library_page import library_page
from leverframe import (
    Board,
    Clock,
    Controller,
    MemoryStore,
    Profile,
    SimulatedBoard,
    SystemClock,
    VirtualClock,
    testing,
)
from leverframe.core.errors import DONE
from leverframe.core.settings import Settings
from leverframe.devices.wiring import Wiring
from leverframe.host.assembly import UnknownBoard, build
from leverframe.host.configuration import BadConfiguration, Config, read_config
from leverframe.host.configuration.reader import Sources
from leverframe.host.maintenance.board import check_board
from leverframe.server.http.messages import Reply, Request, StreamReply


def test_every_exported_name_is_there_and_documented() -> None:
    for module in (leverframe, testing):
        for name in module.__all__:
            assert name in dir(module)
            assert name == "__version__" or getattr(module, name).__doc__, name


def test_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Twins'"):
        testing.Twins  # noqa: B018 - looking it up is the test
    with pytest.raises(AttributeError, match="has no attribute 'Kontroller'"):
        leverframe.Kontroller  # noqa: B018 - looking it up is the test


IMPORTS_ALONE = """
import gc, signal, sys, threading, warnings, logging, asyncio
def everything():
    return (
        sys.getswitchinterval(), sys.getrecursionlimit(), gc.isenabled(), gc.get_freeze_count(),
        threading.active_count(), [signal.getsignal(number) for number in (2, 15)],
        logging.getLogger().handlers, logging.getLogger().level, sys.excepthook, list(sys.path),
        asyncio.get_event_loop_policy().__class__, list(warnings.filters), sys.flags, sys.stdout,
    )
before = everything()
import leverframe, leverframe.testing
for module in (leverframe, leverframe.testing):
    for name in module.__all__:
        getattr(module, name)
assert everything() == before
"""


def test_importing_it_starts_nothing_and_sets_nothing() -> None:
    subprocess.run([sys.executable, "-c", IMPORTS_ALONE], check=True, timeout=60)


def test_importing_it_loads_none_of_its_parts() -> None:
    program = "import leverframe, sys; print(*(n for n in sys.modules if 'leverframe.' in n))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_clock_that_runs_by_itself_is_not_moved() -> None:
    clocks: list[Clock] = [SystemClock(), VirtualClock()]
    assert [clock.is_virtual for clock in clocks] == [False, True]
    assert [clock.was_stepped() for clock in clocks] == [False, False]
    with pytest.raises(RuntimeError, match="runs in real time"):
        clocks[0].move_to(1.0)
    with pytest.raises(RuntimeError, match="cannot go back"):
        clocks[0].go_back(clocks[1].read())


async def test_controller_is_put_together_from_its_exported_parts() -> None:
    clock = VirtualClock()
    board: Board = SimulatedBoard(clock.now)
    controller = Controller(Profile("3.5", "1.49"), MemoryStore(), board, clock, UTC)
    controller.start()
    await controller.advance(10)
    assert controller.engine.values["VCC"] == 12.0
    await controller.stop()


class OwnBoard(SimulatedBoard):
    """A board as another package would bring it."""

    kind = "own"
    calls: list[str]

    @property
    def bench(self) -> None:  # type: ignore[override]
        return None

    async def open(self, settings: Settings, troubles: MutableMapping[str, str]) -> None:
        self.calls = ["open"]

    async def close(self) -> None:
        self.calls.append("close")

    def adopt(self, settings: Settings) -> None:
        self.calls.append(f"adopt {settings.name}")


def make_own_board(wiring: Wiring, clock: Clock) -> Board:
    return OwnBoard(clock.now)


@pytest.fixture
def own_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package is installed that brings a board."""
    about = tmp_path / "own_board-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-board\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[leverframe.boards]\nown = tests.test_library:make_own_board\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("own_board")
async def test_board_of_another_package_is_opened_follows_settings_and_is_closed() -> None:
    wiring = Wiring(kind="own")
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC, wiring=wiring)
    board = built.controller.board
    assert isinstance(board, OwnBoard)
    reply = built.web.handle(Request("GET", "/stm.cgi", "sname=Cellar", peer="127.0.0.1"))
    assert not isinstance(reply, Reply | StreamReply)
    assert (await reply).status == 200
    await built.stop()
    assert board.calls == ["open", "adopt Cellar", "close"]


@pytest.mark.usefixtures("own_board")
def test_configuration_knows_the_boards_of_other_packages(tmp_path: Path) -> None:
    file = tmp_path / "leverframe.toml"
    file.write_text('[board]\nkind = "own"\n')
    assert read_config(file, {}).board.kind == "own"
    file.write_text('[board]\nkind = "other"\n')
    with pytest.raises(BadConfiguration, match="must be one of simulated, linux, own, not 'other'"):
        read_config(file, {})


async def test_unknown_board_is_reported_with_the_available_ones() -> None:
    with pytest.raises(UnknownBoard, match="board 'other'; known boards: simulated, linux"):
        await build(Profile(), MemoryStore(), VirtualClock(), UTC, wiring=Wiring(kind="other"))


@pytest.mark.usefixtures("own_board")
def test_board_of_another_package_is_not_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    own = Config(board=Wiring(kind="own"))
    assert check_board(own, Sources(None, {}, {}), None, as_json=False) == DONE
    assert "The board own comes from another package" in capsys.readouterr().out


def test_library_page_describes_every_name() -> None:
    page = library_page()
    for module in (leverframe, testing):
        for name in module.__all__:
            assert name == "__version__" or f"### `{module.__name__}.{name}`" in page
    assert "- `await open(settings, troubles)`: Open the devices;" in page
    assert "VirtualClock(wall=1767571200.0)" in page


def test_page_of_the_library_lists_every_attribute() -> None:
    page = library_page()
    for module in (leverframe, testing):
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.isclass(value) or not value.__module__.startswith("leverframe"):
                continue
            begin = page.index(f"### `{module.__name__}.{name}`")
            about = page[begin : page.find("### ", begin + 4)]
            fields = getattr(value, "__struct_fields__", ())
            own = [one for one in (*fields, *getattr(value, "__annotations__", ()))]
            for attribute in own:
                assert attribute[0] == "_" or f"- `{attribute}" in about, f"{name}.{attribute}"
    assert "- `clock`: The clock of the twin, which the code under test can use." in page
    assert "- `command`: The refused request, such as" in page
    assert "- `method`: `str`." in page
