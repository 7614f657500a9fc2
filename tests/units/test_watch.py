"""The watch as a process: its inventory, its port, its messages and its end."""

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.core.errors import ErrorForPeople
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.settings import Email, HttpClient, Mqtt
from leverframe.host.ports import CannotListen
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.store import MemoryStore
from leverframe.storage.writer import PersistentMessageStore, Writer
from leverframe.testing import Twin, faults
from leverframe.testing.twin_client import fetch_text
from leverframe.units import watch as watch_module
from leverframe.units.file_keys import BadUnitFile
from leverframe.units.inventory import load_inventory
from leverframe.units.unit_health import UnitNotice
from leverframe.units.watch import Alarms, WatchOrder, order_of, serve_watch, watch
from leverframe.units.watch_table import AlarmChannels
from leverframe.units.watcher import WatchedUnit
from tests.patience import PATIENCE_S
from tests.ports import free_port

from .watch_bench import watching

CHANNELS = """
[watch.http]
url = "http://127.0.0.1:9/hook"

[watch.email]
host = "mail.example"
recipient = "owner@example"
sender = "watch@example"

[watch.mqtt]
host = "broker.example"
password = { env = "BROKER" }
"""


def write(folder: Path, watch: str = "", unit: str = 'address = "http://192.0.2.1"') -> Path:
    path = folder / "units.toml"
    path.write_text(f"[units.cellar]\n{unit}\n\n{watch}")
    return path


# --- the inventory --------------------------------------------------------------------------------


def test_inventory_orders_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER", "secret of the broker")
    table = '[watch]\nevery = "1m"\nread_every = "1h"\nhost = "0.0.0.0"\ndata = "kept"\n'
    login = 'address = "http://192.0.2.1"\nuser = "admin"\npassword = { env = "BROKER" }'
    order = order_of(load_inventory(write(tmp_path, table + CHANNELS, login)), 8090, None)
    assert (order.look_every_s, order.pull_every_s) == (60.0, 3600.0)
    assert order.data == tmp_path / "kept"
    assert order.alarms.mqtt == Mqtt(host="broker.example", password="secret of the broker")
    (unit,) = order.units
    assert unit.login is not None
    assert unit.login.password == "secret of the broker"
    assert unit.compare is None


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ('[watch]\nevery = "1s"', "watch.every must be from 5s"),
        ('[watch]\nevery = "soon"', "watch.every"),
        ('[watch]\nread_every = "2d"', "watch.read_every must be"),
        ("[watch]\nevery = 30", "watch.every must be a duration"),
        ("[watch]\nspeed = 1", "speed"),
        ('[watch]\npassword = "open"', "watch.password must be"),
        (
            '[watch]\npassword = { env = "NO_SUCH" }',
            "watch.password refers to the environment variable NO_SUCH",
        ),
        ('[watch.email]\nhost = "a"', "watch.email has no recipient"),
        ('[watch.http]\nurl = "ftp://x/secret-token"', "watch.http.url must be"),
        ('[watch.mqtt]\nhost = "a"\nport = 0', "watch.mqtt.port must be"),
        ('[watch.sms]\nnumber = "1"', "sms"),
    ],
)
def test_mistake_in_the_table_is_reported_with_its_line(
    tmp_path: Path, table: str, sentence: str
) -> None:
    with pytest.raises(BadUnitFile) as refusal:
        load_inventory(write(tmp_path, table))
    assert sentence in str(refusal.value)
    assert re.search(r"units.toml, line \d", str(refusal.value))
    assert "secret-token" not in str(refusal.value)


@pytest.mark.parametrize("is_real", [pytest.param(True, marks=pytest.mark.thorough), False])
async def test_drift_lists_settings_that_the_unit_shows_differently_from_its_file(
    tmp_path: Path, is_real: bool
) -> None:
    file = tmp_path / "cellar.toml"
    file.write_text('[outputs.OUT0]\nname = "Pump"\n\n[email]\nhost = "mail.example"\n')
    async with Twin(hw="3.5", sw="1.49") as twin:
        if is_real:
            twin.fault(faults.status(404), path="/api/settings")
        named = f'address = "{twin.url}"\nfile = "cellar.toml"'
        order = order_of(load_inventory(write(tmp_path, unit=named)), 0, None)
        async with watching(*order.units) as bench:
            health = bench.watcher.health["cellar"]
            await bench.watcher.pull("cellar")
            assert health.drift is not None
            assert 'not "Pump"' in health.drift[0]
            # A real unit does not show its mail server.
            assert len(health.drift) == (1 if is_real else 2)
            await twin.acommand("/stm.cgi?oname=0Pump", "/stm.cgi?em1=mail.example")
            await bench.watcher.pull("cellar")
            assert health.drift == []
            assert health.troubles == {}
            # The file is read again each time.
            file.write_text("nonsense")
            await bench.watcher.pull("cellar")
            assert health.drift is None
            assert "cellar.toml" in health.troubles["pull"]


# --- what cannot begin ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"port": 70000}, "Port 70000 is out of range"),
        ({"host": "0.0.0.0"}, "configure a password"),
        ({"host": "0.0.0.0", "password": "short"}, "at least 12"),
    ],
)
async def test_watch_that_would_not_be_safe_does_not_begin(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    units = (WatchedUnit("cellar", "http://192.0.2.1"),)
    order = msgspec.structs.replace(WatchOrder(units, tmp_path / "data"), **changes)
    with pytest.raises(ErrorForPeople, match=sentence):
        await serve_watch(order, asyncio.Event())
    assert not (tmp_path / "data").exists()


async def test_inventory_without_units_is_not_watched(tmp_path: Path) -> None:
    empty = tmp_path / "empty.toml"
    empty.write_text("[units]\n")
    with pytest.raises(ErrorForPeople, match=r"empty\.toml contains no units"):
        await watch(empty, 0, True, None, False)


async def test_port_in_use_is_reported(tmp_path: Path) -> None:
    async with Twin() as twin:
        port = int(twin.url.rpartition(":")[2])
        units = (WatchedUnit("cellar", twin.url),)
        with pytest.raises(CannotListen, match="in use by another program"):
            await serve_watch(WatchOrder(units, tmp_path / "data", port=port), asyncio.Event())


# --- a whole watch --------------------------------------------------------------------------------


async def test_watch_serves_what_it_sees_and_ends_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port, stop, seen = free_port(), asyncio.Event(), asyncio.Event()
    async with Twin() as twin:
        await twin.asense(DS1=21.5)

        def compare(_: object) -> list[str]:
            seen.set()
            return ["something differs"]

        units = (WatchedUnit("cellar", twin.url, compare=compare),)
        order = WatchOrder(units, tmp_path / "data", port=port, look_every_s=5.0)
        watching = asyncio.create_task(serve_watch(order, stop, as_json=True))
        async with asyncio.timeout(PATIENCE_S):
            await seen.wait()
        metrics = await asyncio.to_thread(
            fetch_text, f"http://127.0.0.1:{port}", "/metrics", None, None
        )
        stop.set()
        await watching
    assert 'leverframe_unit_reading{name="cellar",label="DS1"} 21.5' in metrics
    assert "leverframe_history_points" in metrics
    assert (tmp_path / "data" / "history.db").exists()
    assert '"event":"ready"' in capsys.readouterr().out


async def test_watch_ends_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = asyncio.Event()
    say_where = watch_module._print_address

    def print_and_continue(*words: Any, **more: Any) -> None:
        say_where(*words, **more)
        ready.set()

    monkeypatch.setattr(watch_module, "_print_address", print_and_continue)
    unreachable = f'address = "http://127.0.0.1:{free_port()}"'
    watching = asyncio.create_task(
        watch(write(tmp_path, unit=unreachable), free_port(), False, None, False)
    )
    async with asyncio.timeout(PATIENCE_S):
        await ready.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        assert await watching == 0
    assert "Watching 1 units" in capsys.readouterr().out
    with DataFolder(tmp_path / "watch") as folder:
        assert folder.was_given_back


async def test_one_look_shows_the_health_of_each_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cellar.toml").write_text('[outputs.OUT0]\nname = "Pump"\n')
    async with Twin(hw="3.5", sw="1.49") as twin:
        named = f'address = "{twin.url}"\nfile = "cellar.toml"'
        path = write(tmp_path, unit=named)
        assert await watch(path, 0, True, None, False) == 1
        output = capsys.readouterr().out
        assert output.startswith("cellar, HW 3.5 SW 1.49: The unit differs from its file")
        assert '   -  outputs.OUT0.name is nothing, not "Pump"' in output
        await twin.acommand("/stm.cgi?oname=0Pump")
        assert await watch(path, 0, True, None, False) == 0
        assert capsys.readouterr().out == "cellar, HW 3.5 SW 1.49: no problems.\n"
        assert await watch(path, 0, True, None, True) == 0
        assert msgspec.json.decode(capsys.readouterr().out)["drift"] == []
    assert not (tmp_path / "watch").exists()
    async with Twin() as twin:
        with path.open("a") as file:
            file.write(f'\n[units.attic]\naddress = "{twin.url}"\n[units.shed]\n')
            file.write(f'address = "http://127.0.0.1:{free_port()}"\n')
        await twin.acommand("/stm.cgi?pidvalue=1*0*300*200*0*0*1")
        twin.controller.troubles["store"] = "The disk is full."
        assert await watch(path, 0, True, None, False) == 1
    first, second, *others = capsys.readouterr().out.splitlines()
    # Worst first, then in the order of the inventory.
    assert first.startswith("cellar, version unknown: ")
    assert second.startswith("shed, version unknown: ")
    assert others == [
        "attic, HW 3.9 SW 1.75: 2 problems",
        "   Storage: The disk is full.",
        "   The PID regulator is on, but its output PWM1 is off.",
    ]


async def test_notices_go_through_every_channel_and_say_what_they_are_about() -> None:
    channels = AlarmChannels(
        HttpClient(url="http://192.0.2.9/hook"),
        Email(host="mail.example", recipient="owner@example", sender="watch@example"),
        Mqtt(host="broker.example"),
    )
    store = PersistentMessageStore(Writer(MemoryStore()))
    alarms = Alarms(channels, store, VirtualClock(), {}, capture=True)
    alarms.start()
    alarms.send(UnitNotice("cellar", "reach", True, "No answer.", "lost"))
    by_channel = {message.channel: message for message in alarms.outbox.report().captured}
    assert set(by_channel) == {"http1", "email", "mqtt"}
    assert msgspec.json.decode(by_channel["http1"].content["body"]) == {
        "unit": "cellar",
        "kind": "reach",
        "active": True,
        "severity": "lost",
        "text": "No answer.",
    }
    assert "cellar: No answer." in by_channel["email"].content["text"]
    assert "cellar: No answer." in by_channel["mqtt"].reason
    assert by_channel["mqtt"].target == "leverframe/notify"
    await alarms.close()


async def test_without_channels_nothing_is_sent() -> None:
    store = PersistentMessageStore(Writer(MemoryStore()))
    alarms = Alarms(AlarmChannels(), store, VirtualClock(), {})
    alarms.start()
    alarms.send(UnitNotice("cellar", "reach", True, "No answer."))
    assert alarms.outbox.figures() == {}
    await alarms.close()
