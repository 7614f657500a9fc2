"""MQTT against a real Mosquitto: states, commands, discovery, rules, and a broker that dies."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

import pytest
from msgspec.structs import replace

from leverframe.core.engine.journal import Cause
from leverframe.core.runtime.clock import SystemClock
from leverframe.core.runtime.event_loop import BURST_S, PART, LoopShare, LoopShares, LoopTurns
from leverframe.core.runtime.outgoing import Targets
from leverframe.core.settings import Mqtt
from leverframe.devices.simulated.simulated_board import SimulatedBoard
from leverframe.host.assembly import build
from leverframe.host.controller import Controller
from leverframe.host.services import Sending
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.notify import mqtt as mqtt_link
from leverframe.notify.channel import Trust
from leverframe.notify.mqtt import MqttLink
from leverframe.notify.mqtt_client import READ_BYTES
from leverframe.server import mqtt as command_answers
from leverframe.server.home_assistant import PagesAddress
from leverframe.server.mqtt import FAULT, NAME, REFUSED
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes, MemoryStore, Rows, Store
from leverframe.testing.in_process import NEWEST
from tests.notify.broker import PASSWORD, PATIENCE_S, USER, Broker, Listener, until
from tests.ports import free_port

WAY_OUT = Targets().channel("mqtt")

pytestmark = [pytest.mark.needs_program("mosquitto"), pytest.mark.needs_program("mosquitto_sub")]

ADMIN_CAUSE = Cause("command", "test")
PREFIX = "cellar"


async def send_command(controller: Controller, text: str) -> None:
    """What the administrator sends by HTTP."""
    calls = [(call, None) for call in calls_in(text, controller.profile)]
    await controller.perform(calls, ADMIN_CAUSE, account=UNRESTRICTED)


def connect_command(broker: Broker, password: str = PASSWORD) -> str:
    tls = int(broker.ca_file is not None)
    return f"mqtt=1*localhost*{broker.port}*{USER}*{password}*{PREFIX}*{tls}"


@asynccontextmanager
async def running(
    broker: Broker,
    store: Store | None = None,
    why_held: Callable[[], str | None] = lambda: None,
) -> AsyncIterator[Controller]:
    ca_file = str(broker.ca_file) if broker.ca_file is not None else None
    sending = Sending(capture=False, ca_file=ca_file, why_held=why_held)
    store = store or MemoryStore()
    built = await build(NEWEST, store, SystemClock(), UTC, sending=sending)
    try:
        yield built.controller
    finally:
        await built.stop()


@asynccontextmanager
async def on_broker(
    folder: Path,
    *,
    tls: bool = False,
    store: Store | None = None,
    why_held: Callable[[], str | None] = lambda: None,
) -> AsyncIterator[tuple[Controller, Broker, Listener]]:
    """A controller that is connected, and a listener."""
    broker = Broker(folder, tls=tls)
    listener = Listener(broker)
    await broker.start()
    try:
        await listener.start()
        async with running(broker, store, why_held) as controller:
            await send_command(controller, connect_command(broker))
            await listener.until_last(f"{PREFIX}/status", "online")
            yield controller, broker, listener
    finally:
        await listener.stop()
        await broker.kill()


async def test_every_state_is_retained_under_its_label_and_follows_changes(tmp_path: Path) -> None:
    async with on_broker(tmp_path, tls=True) as (controller, broker, listener):
        await listener.until_last(f"{PREFIX}/OUT0", "0")
        await listener.until_last(f"{PREFIX}/DS1", "none")
        await send_command(controller, "out0=1")
        controller.sense({"DS1": 21.5})
        await listener.until_last(f"{PREFIX}/OUT0", "1")
        await listener.until_last(f"{PREFIX}/DS1", "21.5")
        latecomer = Listener(broker, f"{PREFIX}/+")
        await listener.stop()
        await latecomer.start_as("latecomer")
        await latecomer.until_last(f"{PREFIX}/DS1", "21.5")
        assert all(heard.retained for heard in latecomer.heard)
        await latecomer.stop()


async def test_reading_within_its_dead_band_is_not_published_again(tmp_path: Path) -> None:
    async with on_broker(tmp_path) as (controller, _, listener):
        for step, celsius in enumerate((21.0, 21.04, 21.08, 20.95, 21.1)):
            # The last of the readings shows that the others have been published before it.
            controller.sense({"DS1": celsius, "m30": float(step)})
            await listener.until_last(f"{PREFIX}/m30", f"{step}.0")
        assert listener.of(f"{PREFIX}/DS1") == ["none", "21.0", "21.1"]


async def test_commands_are_carried_out_and_acknowledged(tmp_path: Path) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        await broker.publish(f"{PREFIX}/cmd", "pulse0=10&out2=1&pwmd=130")
        await listener.until_last(f"{PREFIX}/cmdr", "1")
        assert controller.engine.values["OUT0"] == controller.engine.values["OUT2"] == 1
        assert controller.engine.settings.pwm[1].duty == 30
        await listener.until_last(f"{PREFIX}/OUT2", "1")
        (noted,) = map(json.loads, map(bytes, (await controller.action_audit.entries()).values()))
        assert noted["source"] == "MQTT"
        assert [change["path"] for change in noted["changes"]] == ["OUT0", "OUT2"]


async def test_fault_while_the_link_goes_down_does_not_hold_up_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(PATIENCE_S), on_broker(tmp_path) as (controller, _, _):

        def fail() -> None:
            if not controller.engine.values["MQTT"]:
                raise ZeroDivisionError("oops")

        controller.watchers.add(fail)
    assert "oops" in caplog.text


@pytest.mark.parametrize("command", ["out0=1", "out0=1&pwmd=130"])
async def test_command_that_fails_by_a_fault_is_answered_and_the_log_says_why(
    tmp_path: Path,
    command: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where it fails only when its change is on disk."""
    store = SqliteStore(tmp_path / "store.db")
    async with on_broker(tmp_path, store=store) as (controller, broker, listener):

        def fail(board: SimulatedBoard, index: int, on: bool) -> None:
            raise ZeroDivisionError("oops")

        monkeypatch.setattr(SimulatedBoard, "drive_output", fail)
        await broker.publish(f"{PREFIX}/cmd", command)
        await listener.until_last(f"{PREFIX}/cmdr", FAULT)
        assert "oops" in caplog.text
        monkeypatch.undo()
        await broker.publish(f"{PREFIX}/cmd", "out0=0")
        await listener.until_last(f"{PREFIX}/cmdr", "1")


async def test_refused_command_changes_nothing_and_is_answered_with_a_sentence(
    tmp_path: Path,
) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        for command, sentence in (
            ("out0=1&out1=7", "Field B"),
            ("nonsense=1", "nonsense"),
            ("oname=0Pump", "Only the administrator may do this."),
            ("auth=11YQ==*YQ==*YQ==*YQ==", "Only the administrator may do this."),
            ("x" * 9000, "up to 8192 bytes"),
        ):
            before = len(listener.of(f"{PREFIX}/cmdr"))
            await broker.publish(f"{PREFIX}/cmd", command)
            await until(lambda seen=before: len(listener.of(f"{PREFIX}/cmdr")) > seen)
            assert sentence in listener.of(f"{PREFIX}/cmdr")[-1]
        assert controller.engine.values["OUT0"] == 0


async def test_commands_are_answered_in_their_order(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    async with on_broker(tmp_path, store=store) as (_, broker, listener):
        # The first has to reach the disk before it is answered, the second does not.
        lines = tmp_path / "commands"
        lines.write_text("pwmd=130\nnonsense=1\npwmd=140\nnonsense=2\n")
        with lines.open() as given:
            command = broker.client("mosquitto_pub", "-q", "1", "-t", f"{PREFIX}/cmd", "-l")
            process = await asyncio.create_subprocess_exec(*command, stdin=given)
            assert await process.wait() == 0
        await until(lambda: len(listener.of(f"{PREFIX}/cmdr")) == 4)
        answers = listener.of(f"{PREFIX}/cmdr")
        assert [answer == "1" for answer in answers] == [True, False, True, False]


class HangingStore(MemoryStore):
    """A store whose disk hangs until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.may_continue = asyncio.Event()
        self.may_continue.set()

    async def write(self, rows: Rows) -> None:
        await self.may_continue.wait()
        await super().write(rows)


async def test_commands_beyond_the_limit_are_refused_in_order_while_the_disk_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HangingStore()
    async with on_broker(tmp_path, store=store) as (controller, broker, listener):
        monkeypatch.setattr(command_answers, "MAX_WAITING", 3)
        store.may_continue.clear()
        for duty in range(11, 17):
            await broker.publish(f"{PREFIX}/cmd", f"pwmd=1{duty}")
        controller.sense({"DS1": 21.5})
        # What comes after the commands has come, so they have, too.
        await listener.until_last(f"{PREFIX}/DS1", "21.5")
        assert listener.of(f"{PREFIX}/cmdr") == []
        store.may_continue.set()
        await until(lambda: len(listener.of(f"{PREFIX}/cmdr")) == 6)
        answers = listener.of(f"{PREFIX}/cmdr")
        assert answers[:3] == ["1"] * 3
        assert all("was not carried out; send it again later" in answer for answer in answers[3:])
        assert controller.engine.settings.pwm[1].duty == 13
        await broker.publish(f"{PREFIX}/cmd", "pwmd=120")
        await until(lambda: controller.engine.settings.pwm[1].duty == 20)


async def test_lock_of_the_outputs_holds_for_mqtt(tmp_path: Path) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        await send_command(controller, "outblock=1")
        await broker.publish(f"{PREFIX}/cmd", "out0=1")
        await until(lambda: "locked" in "".join(listener.of(f"{PREFIX}/cmdr")))
        assert controller.engine.values["OUT0"] == 0


async def test_retained_command_is_not_carried_out_at_every_connection(
    tmp_path: Path,
) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        await broker.publish(f"{PREFIX}/cmd", "out=out3", "-r")
        await listener.until_last(f"{PREFIX}/cmdr", "1")
        assert controller.engine.values["OUT3"] == 1
        await send_command(controller, "mqtt=0**1883***x*0")
        # Heard by the listener, too, whose next "online" is then that of the new connection.
        await listener.until_last(f"{PREFIX}/status", "offline")
        await send_command(controller, connect_command(broker))
        await listener.until_last(f"{PREFIX}/status", "online")
        await broker.publish(f"{PREFIX}/cmd", "out0=1")
        await until(lambda: controller.engine.values["OUT0"] == 1)
        assert controller.engine.values["OUT3"] == 1


async def test_connection_is_a_rule_source_and_survives_a_restart(tmp_path: Path) -> None:
    async with on_broker(tmp_path) as (controller, _, listener):
        await until(lambda: controller.engine.values["MQTT"] == 1)
        await send_command(controller, "event=0*118*0*1*0*0*0*0*0*0*0*0*1*0*0*0")
        await send_command(controller, "eventon=0*1")
        await until(lambda: controller.engine.values["OUT0"] == 1)
        controller.restart()
        await until(lambda: controller.engine.values["MQTT"] == 1)
        await send_command(controller, "mqtt=0**1883***x*0")
        await until(lambda: controller.engine.values["MQTT"] == 0)
        await listener.until_last(f"{PREFIX}/status", "offline")


async def test_nothing_is_lost_and_order_kept_when_the_broker_is_killed_mid_stream(
    tmp_path: Path,
) -> None:
    async with on_broker(tmp_path, tls=True) as (controller, broker, listener):
        await send_command(controller, "event=0*104*0*1*0*0*41*0*0*0*0*0*1*0*0*0")
        await send_command(controller, "eventon=0*1")
        # The broker has the listener's session and subscription on disk before it dies.
        await until(lambda: broker.has_stored("listener#"))
        notices = f"{PREFIX}/notify"
        for number in range(300):
            await send_command(controller, f"vout0={(number + 1) % 2}")
            if number == 100:
                # What a broker has taken and not yet passed on when it dies is its own loss.
                await until(lambda: len(numbers_of(listener, notices)) == 101)
                await broker.kill()
                await listener.stop()
            if number == 200:
                await until(lambda: NAME in controller.troubles)
                await broker.start()
                await listener.start_as("listener")
        await until(lambda: len(numbers_of(listener, notices)) == 300)
        assert numbers_of(listener, notices) == sorted(numbers_of(listener, notices))
        said = [json.loads(payload) for payload in listener.of(notices)]
        assert [one["active"] for one in said[:2]] == [True, False]
        assert said[0]["label"] == "EVENT1"
        assert said[0]["reason"] == "rule 1"
        assert controller.outbox_report().channels["mqtt"].dropped == 0


def numbers_of(listener: Listener, topic: str) -> list[int]:
    """The numbers of the messages, without those that came again."""
    numbers = [json.loads(payload)["number"] for payload in listener.of(topic)]
    return list(dict.fromkeys(numbers))


@pytest.mark.parametrize(
    ("host", "password", "tls", "sentence"),
    [
        ("localhost", "wrong secret", 1, "refuses the user name or password"),
        ("127.0.0.1", PASSWORD, 1, "is not trusted"),
        ("no-such-host.invalid", PASSWORD, 1, "cannot be resolved"),
        ("localhost", PASSWORD, 0, "closed the connection"),
    ],
)
async def test_problem_is_a_sentence_without_secrets(
    tmp_path: Path, host: str, password: str, tls: int, sentence: str
) -> None:
    broker = Broker(tmp_path, tls=True)
    await broker.start()
    try:
        async with running(broker) as controller:
            await send_command(controller, f"mqtt=1*{host}*{broker.port}*{USER}*{password}*x*{tls}")
            await until(lambda: NAME in controller.troubles)
            assert sentence in controller.troubles[NAME]
            assert password not in controller.troubles[NAME]
    finally:
        await broker.kill()


async def test_broker_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    async with running(broker) as controller:
        await send_command(controller, connect_command(broker))
        await until(lambda: "refuses connections" in controller.troubles.get(NAME, ""))
        await broker.start()
        try:
            await until(lambda: controller.engine.values["MQTT"] == 1)
            assert NAME not in controller.troubles
        finally:
            await broker.kill()


async def test_broker_publishes_offline_when_a_controller_is_killed(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    listener = Listener(broker)
    await broker.start()
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "leverframe", "run", "--no-mdns", "--no-discovery"),
        *("--port", str(port), "--data", str(tmp_path / "data")),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        await listener.start()
        assert process.stdout is not None
        await process.stdout.readline()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        query = connect_command(broker).replace(" ", "%20")
        writer.write(f"GET /stm.cgi?{query} HTTP/1.0\r\n\r\n".encode())
        assert b" 200 " in await reader.readline()
        writer.close()
        await listener.until_last(f"{PREFIX}/status", "online")
        process.kill()
        await listener.until_last(f"{PREFIX}/status", "offline")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await listener.stop()
        await broker.kill()


async def test_everything_is_announced_to_home_assistant_and_follows_its_name(
    tmp_path: Path,
) -> None:
    async with on_broker(tmp_path) as (controller, _, listener):
        controller.sense({"DS1": 21.5, "T1": 20.0, "H1": 45.0})
        wanted = ["OUT0", "PWM3", "PWM0_duty", "INPD4", "EVENT8", "DS1", "T1", "H1", "ENERGY6"]
        await until(lambda: all(list_announcements(listener, name) for name in wanted))
        assert not list_announcements(listener, "DS2")
        await send_command(controller, "tname=0Boiler")
        await until(lambda: list_announcements(listener, "DS1")[-1]["name"] == "Boiler (DS1)")
        await send_command(controller, "sname=Cellar")
        await until(lambda: device_name(list_announcements(listener, "OUT0")[-1]) == "Cellar")


def device_name(message: dict[str, object]) -> object:
    device = message["device"]
    assert isinstance(device, dict)
    return device["name"]


def list_announcements(listener: Listener, name: str) -> list[dict[str, object]]:
    return [
        json.loads(heard.payload)
        for heard in listener.heard
        if heard.payload
        and heard.topic.startswith("homeassistant/")
        and heard.topic.endswith(f"/{name}/config")
    ]


def configurations(listener: Listener) -> set[str]:
    """The topics of announcements that the broker keeps."""
    last = {heard.topic: heard.payload for heard in listener.heard}
    return {topic for topic, payload in last.items() if topic.endswith("/config") and payload}


@pytest.mark.parametrize("prefix", ["", "ha2"])
async def test_announcements_are_withdrawn_when_discovery_ends_or_has_another_prefix(
    tmp_path: Path, prefix: str
) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        controller.sense({"DS1": 21.5})
        await until(lambda: bool(list_announcements(listener, "DS1")))
        await until(lambda: bool(list_announcements(listener, "ENERGY6")))
        before = configurations(listener)
        assert {topic.partition("/")[0] for topic in before} == {"homeassistant"}
        await send_command(controller, f"mqttdiscovery={prefix}")
        after = {topic.replace("homeassistant", prefix) for topic in before if prefix}
        await until(lambda: configurations(listener) == after)
        # The broker has nothing else for those who come later either.
        latecomer = Listener(broker)
        await latecomer.start_as("latecomer")
        await until(lambda: bool(latecomer.of(f"{PREFIX}/ENERGY6")))
        assert configurations(latecomer) <= after
        await latecomer.stop()


async def test_announcements_are_withdrawn_from_a_broker_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine a broker takes longer than a controller that stops may wait.
    monkeypatch.setattr(mqtt_link, "FAREWELL_S", PATIENCE_S)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    second = Broker(tmp_path / "two")
    hearing = Listener(second)
    await second.start()
    await hearing.start()
    async with on_broker(tmp_path / "one") as (controller, _, listener):
        controller.sense({"DS1": 21.5})
        await until(lambda: bool(list_announcements(listener, "DS1")))
        await until(lambda: bool(list_announcements(listener, "ENERGY6")))
        before = configurations(listener)
        await send_command(controller, connect_command(second))
        # What changes from here on is for the second broker.
        controller.sense({"DS2": 7.5})
        await until(lambda: configurations(listener) == set())
        await listener.until_last(f"{PREFIX}/status", "offline")
        await until(lambda: configurations(hearing) > before)
        assert not list_announcements(listener, "DS2")
        texts = [entry.text for entry in controller.engine.machine.journal.entries()]
        assert not any("keeps" in text for text in texts)
    await hearing.stop()
    await second.kill()


@pytest.mark.parametrize("is_off", [False, True])
async def test_announcements_left_on_an_unreachable_broker_are_reported(
    tmp_path: Path, is_off: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        controller.sense({"DS1": 21.5})
        await until(lambda: bool(list_announcements(listener, "DS1")))
        if is_off:
            await send_command(controller, connect_command(broker).replace("mqtt=1", "mqtt=0"))
            await listener.until_last(f"{PREFIX}/status", "offline")
        else:
            await broker.stop()
            await until(lambda: NAME in controller.troubles)
        flag = int(not is_off)
        await send_command(controller, f"mqtt={flag}*elsewhere.invalid*1883***{PREFIX}*0")
        place = f"The broker at localhost:{broker.port} keeps"
        (text,) = [
            entry.text
            for entry in controller.engine.machine.journal.entries()
            if entry.text.startswith(place)
        ]
        assert "homeassistant/" in text
        assert place in caplog.text
        # Back there, everything is settled as ever.
        if is_off:
            await send_command(controller, "mqttdiscovery=")
            await send_command(controller, connect_command(broker))
            await until(lambda: configurations(listener) == set())


async def test_announcements_of_an_earlier_run_are_withdrawn_after_a_start(tmp_path: Path) -> None:
    store = MemoryStore()
    async with on_broker(tmp_path, store=store) as (controller, broker, listener):
        controller.sense({"DS1": 21.5})
        await until(lambda: bool(list_announcements(listener, "DS1")))
        before = configurations(listener)
        await broker.stop()
        # The broker is away while the prefix changes, and the controller is restarted.
        await send_command(controller, "mqttdiscovery=ha2")
        await controller.writer.commit(Changes(kept={"identity.mac": "02:00:00:00:00:99"}))
        async with running(broker, store):
            await listener.stop()
            await broker.start()
            await listener.start_as("listener")
            for topic in before:
                await listener.until_last(topic, "")


def list_kept_topics(listener: Listener, prefix: str) -> set[str]:
    """The topics below a prefix that the broker keeps, as far as the listener has heard."""
    last = {heard.topic: heard.payload for heard in listener.heard}
    return {x for x, payload in last.items() if payload and x.startswith(f"{prefix}/")}


def command_with_prefix(broker: Broker, prefix: str) -> str:
    return f"mqtt=1*localhost*{broker.port}*{USER}*{PASSWORD}*{prefix}*0"


async def listen_late(broker: Broker, listened_for: str) -> Listener:
    """What a new subscriber gets, up to a topic that is surely there."""
    latecomer = Listener(broker)
    await latecomer.start_as(f"latecomer-{listened_for.replace('/', '-')}")
    await until(lambda: bool(latecomer.of(listened_for)))
    await latecomer.stop()
    return latecomer


async def test_another_prefix_withdraws_what_the_broker_kept_under_the_old_one(
    tmp_path: Path,
) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener):
        controller.sense({"DS1": 21.5})
        await listener.until_last(f"{PREFIX}/DS1", "21.5")
        await listener.until_last(f"{PREFIX}/ENERGY6", "0.0")
        await send_command(controller, command_with_prefix(broker, "attic"))
        await listener.until_last("attic/DS1", "21.5")
        await until(lambda: list_kept_topics(listener, PREFIX) == set())
        await listener.until_last("attic/ENERGY6", "0.0")
        latecomer = await listen_late(broker, "attic/ENERGY6")
        assert list_kept_topics(latecomer, PREFIX) == set()
        assert latecomer.of("attic/status") == ["online"]
        # Home Assistant is shown where the states are now.
        assert list_announcements(latecomer, "DS1")[-1]["state_topic"] == "attic/DS1"


async def test_prefix_that_changed_while_the_broker_was_away_is_withdrawn_after_a_start(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    async with on_broker(tmp_path, store=store) as (controller, broker, listener):
        await listener.until_last(f"{PREFIX}/ENERGY6", "0.0")
        await broker.stop()
        await send_command(controller, command_with_prefix(broker, "attic"))
        async with running(broker, store):
            await listener.stop()
            await broker.start()
            await listener.start_as("listener")
            await listener.until_last("attic/status", "online")
            await until(lambda: list_kept_topics(listener, PREFIX) == set())


async def test_controller_sharing_a_prefix_keeps_its_states_when_another_leaves(
    tmp_path: Path,
) -> None:
    async with on_broker(tmp_path) as (controller, broker, listener), running(broker) as other:
        await send_command(other, connect_command(broker))
        await until(lambda: listener.of(f"{PREFIX}/status").count("online") >= 2)
        await listener.until_last(f"{PREFIX}/ENERGY6", "0.0")
        await send_command(other, command_with_prefix(broker, "attic"))
        await until(lambda: "" in listener.of(f"{PREFIX}/status"))
        await listener.until_last(f"{PREFIX}/status", "online")
        await listener.until_last(f"{PREFIX}/ENERGY6", "0.0")


async def test_name_that_changes_while_its_reading_is_absent_is_announced(tmp_path: Path) -> None:
    store = MemoryStore()
    async with on_broker(tmp_path, store=store) as (controller, broker, listener):
        controller.sense({"DS1": 21.5})
        await until(lambda: bool(list_announcements(listener, "DS1")))
        controller.sense({"DS1": None})
        await listener.until_last(f"{PREFIX}/DS1", "none")
        await send_command(controller, "tname=0Boiler")
        await until(lambda: list_announcements(listener, "DS1")[-1]["name"] == "Boiler (DS1)")
        # Also of another prefix of ours, and what never had a value is still not announced.
        await send_command(controller, f"mqtt=1*localhost*{broker.port}*{USER}*{PASSWORD}*attic*0")
        await until(lambda: list_announcements(listener, "DS1")[-1]["state_topic"] == "attic/DS1")
        assert not list_announcements(listener, "DS2")


async def test_home_assistant_gets_the_address_of_the_pages(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    listener = Listener(broker)
    await broker.start()
    try:
        await listener.start()
        built = await build(
            NEWEST, MemoryStore(), SystemClock(), UTC, sending=Sending(capture=False)
        )
        await send_command(built.controller, connect_command(broker))
        await until(lambda: bool(list_announcements(listener, "OUT0")))
        assert "configuration_url" not in str(list_announcements(listener, "OUT0")[-1]["device"])
        built.mqtt.pages_are_at(PagesAddress("http", "0.0.0.0", 8080))
        await until(
            lambda: "configuration_url" in str(list_announcements(listener, "OUT0")[-1]["device"])
        )
        await built.stop()
    finally:
        await listener.stop()
        await broker.kill()
    device = list_announcements(listener, "OUT0")[-1]["device"]
    assert isinstance(device, dict)
    assert device["configuration_url"] in ("http://127.0.0.1:8080/", "http://[::1]:8080/")


async def test_broker_that_refuses_publishes_is_reported_until_it_accepts_them(
    tmp_path: Path,
) -> None:
    # Mosquitto 2.0.11 without a limit (0) cuts connections that it refuses publishes of.
    broker = Broker(tmp_path, queued=1000)
    broker.allow("read #")
    await broker.start()
    try:
        async with running(broker) as controller:
            await send_command(controller, connect_command(broker))
            await until(lambda: REFUSED in controller.troubles)
            place = f"localhost:{broker.port}"
            assert controller.troubles[REFUSED].startswith(f"The broker at {place} refuses cellar/")
            await until(lambda: "other topics (135 not authorized)" in controller.troubles[REFUSED])
            assert (
                "allow cellar/# and homeassistant/# in its access list."
                in controller.troubles[REFUSED]
            )
            assert controller.engine.values["MQTT"] == 1
            await send_command(controller, "event=0*104*0*1*0*0*41*0*0*0*0*0*1*0*0*0")
            await send_command(controller, "eventon=0*1&vout0=1")
            await until(lambda: "refuses" in str(controller.troubles.get("mqtt")))
            broker.allow("readwrite #")
            await until(lambda: controller.outbox_report().channels["mqtt"].sent == 1)
            # One topic that is taken shows that all may be tried again.
            await until(lambda: REFUSED not in controller.troubles)
    finally:
        await broker.kill()


async def test_broker_that_lets_few_messages_be_under_way_gets_all_in_order(
    tmp_path: Path,
) -> None:
    broker = Broker(tmp_path, inflight=3)
    listener = Listener(broker)
    await broker.start()
    link = MqttLink("leverframe-1", Trust(), WAY_OUT)
    try:
        await listener.start()
        link.adopt(
            Mqtt(enabled=True, host="localhost", port=broker.port, username=USER, password=PASSWORD)
        )
        await until(lambda: link.up)
        taken = [link.publish("cellar/many", str(number)) for number in range(200)]
        assert link.unacknowledged == 200
        assert all(await asyncio.gather(*taken))
        await until(lambda: len(listener.of("cellar/many")) == 200)
        assert listener.of("cellar/many") == [str(number) for number in range(200)]
        os.kill(broker.pid, signal.SIGSTOP)
        lost = [link.publish("cellar/many", "late") for _ in range(50)]
        await link.close()
        assert not any(await asyncio.gather(*lost))
    finally:
        await link.close()
        await listener.stop()
        await broker.kill()


async def test_node_that_may_have_lost_the_controller_publishes_nothing(
    tmp_path: Path,
) -> None:
    held: list[str] = []
    on = on_broker(tmp_path, why_held=lambda: held[0] if held else None)
    async with on as (controller, broker, listener):
        await listener.until_last(f"{PREFIX}/DS1", "none")
        held.append("Another node may have it.")
        controller.sense({"DS1": 21.5})
        await broker.publish(f"{PREFIX}/cmd", "out0=1")
        await listener.until_last(f"{PREFIX}/cmdr", "1")
        assert listener.of(f"{PREFIX}/DS1") == ["none"]
        held.clear()
        await listener.until_last(f"{PREFIX}/DS1", "21.5")
        await listener.until_last(f"{PREFIX}/OUT0", "1")


async def test_node_that_may_have_lost_the_controller_does_not_disconnect_its_owner(
    tmp_path: Path,
) -> None:
    broker = Broker(tmp_path)
    await broker.start()
    place = Mqtt(enabled=True, host="localhost", port=broker.port, username=USER, password=PASSWORD)
    held: list[str] = []
    old = MqttLink("leverframe-1", Trust(), WAY_OUT, why_held=lambda: held[0] if held else None)
    new = MqttLink("leverframe-1", Trust(), WAY_OUT)
    try:
        old.adopt(place)
        await until(lambda: old.up)
        held.append("Another node may have it.")
        new.adopt(place)
        await until(lambda: old.problem == held[0])
        assert new.up
        await new.close()
        held.clear()
        await until(lambda: old.up)
    finally:
        await old.close()
        await new.close()
        await broker.kill()


class Others:
    """What else there is on the loop: how often it had its time."""

    def __init__(self) -> None:
        self.rounds = 0

    async def live(self) -> None:
        while True:
            self.rounds += 1
            await asyncio.sleep(0)


async def test_messages_of_a_broker_are_read_at_the_turns_of_the_controller(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    await broker.start()
    shares, share = LoopShares(), LoopShare()
    link = MqttLink("leverframe-1", Trust(), WAY_OUT, turns=LoopTurns(shares, share))
    others = Others()
    heard: list[bytes] = []
    moments: list[float] = []
    rounds: list[int] = []

    def hear(_: str, payload: bytes) -> None:
        heard.append(payload)
        moments.append(shares.clock())
        rounds.append(others.rounds)

    link.on_message = hear
    try:
        link.adopt(
            Mqtt(enabled=True, host="localhost", port=broker.port, username=USER, password=PASSWORD)
        )
        await until(lambda: link.up)
        link.subscribe("cellar/cmd")
        await link.publish("cellar/cmd", "first")
        await until(lambda: heard == [b"first"])
        living = asyncio.create_task(others.live())
        # It has worked long, and another one is asked.
        shares.answer(LoopShare(), None, lambda _: None)
        share.paid_until = shares.clock() + BURST_S / PART + 0.2
        may_continue = share.paid_until - BURST_S / PART
        for number in range(100):
            link.publish("cellar/cmd", str(number))
        await until(lambda: len(heard) == 101)
        living.cancel()
        assert heard[1:] == [str(number).encode() for number in range(100)]
        assert moments[1] >= may_continue
        # Not all together: other work has its time between two bites.
        [(_, in_one_round)] = Counter(rounds[1:]).most_common(1)
        assert in_one_round <= READ_BYTES / len(b"cellar/cmd0")
    finally:
        await link.close()
        await broker.kill()


class OldBroker:
    """Stands before a broker and knows only MQTT 3.1.1."""

    def __init__(self, port: int, *, answers: bool) -> None:
        self.versions: list[int] = []
        self._port = port
        self._answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.read(65536)
        version = head[head.index(b"MQTT") + 4]
        self.versions.append(version)
        if version == 5:
            writer.write(b"\x20\x02\x00\x01" if self._answers else b"")
        else:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._port)
            inner_writer.write(head)
            await asyncio.gather(pass_on(reader, inner_writer), pass_on(inner_reader, writer))
        writer.close()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@pytest.mark.parametrize("answers", [True, False])
async def test_older_broker_is_spoken_to_by_mqtt_3_1_1(tmp_path: Path, answers: bool) -> None:
    broker = Broker(tmp_path)
    await broker.start()
    old = OldBroker(broker.port, answers=answers)
    server = await asyncio.start_server(old.serve, "127.0.0.1", 0)
    link = MqttLink("leverframe-1", Trust(), WAY_OUT)
    try:
        port = server.sockets[0].getsockname()[1]
        link.adopt(
            Mqtt(enabled=True, host="127.0.0.1", port=port, username=USER, password=PASSWORD)
        )
        await until(lambda: link.up)
        assert old.versions == [5, 4]
        assert await link.publish("cellar/x", "1")
    finally:
        await link.close()
        server.close()
        await broker.kill()


@pytest.mark.parametrize("shown", [True, False])
async def test_broker_that_wants_a_certificate_is_shown_it(tmp_path: Path, shown: bool) -> None:
    broker = Broker(tmp_path, tls=True)
    certificate, key = broker.require_certificates()
    await broker.start()
    files = (str(certificate), str(key)) if shown else (None, None)
    link = MqttLink("leverframe-1", Trust(str(broker.ca_file), *files), WAY_OUT)
    mqtt = Mqtt(enabled=True, host="localhost", port=broker.port, username=USER, tls=True)
    try:
        link.adopt(replace(mqtt, password=PASSWORD))
        await until(lambda: link.up or link.problem is not None)
        assert link.up == shown
    finally:
        await link.close()
        await broker.kill()


async def test_missing_certificate_is_reported(tmp_path: Path) -> None:
    link = MqttLink(
        "leverframe-1", Trust(None, str(tmp_path / "me.crt"), str(tmp_path / "me.key")), WAY_OUT
    )
    link.adopt(Mqtt(enabled=True, host="localhost", port=free_port(), tls=True))
    await until(lambda: link.problem is not None)
    assert "me.key cannot be used (No such file or directory)" in str(link.problem)
    await link.close()


async def test_missing_file_of_authorities_is_reported(tmp_path: Path) -> None:
    link = MqttLink("leverframe-1", Trust(str(tmp_path / "ca.pem")), WAY_OUT)
    link.adopt(Mqtt(enabled=True, host="localhost", port=free_port(), tls=True))
    await until(lambda: link.problem is not None)
    assert "ca.pem cannot be used (No such file or directory)" in str(link.problem)
    await link.close()
