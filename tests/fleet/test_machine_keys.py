"""Keys of a fleet file that grant a controller parts of the machine: devices, files, networks."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from leverframe.fleet.fleet_file import FleetFile
from leverframe.fleet.serve import start_controllers
from leverframe.interface.uploads.firmware import build_image, new_key_pair, sign_image
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.lanes.lane import MemoryLane
from tests.devices.waiting import until
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.test_fleet_file import read
from tests.notify.broker import PASSWORD, USER, Broker
from tests.ports import free_port
from tests.server.tftp_sender import TftpRefused, send

PRIVATE, PUBLIC = new_key_pair()
IMAGE = sign_image(build_image(["3.9"], "1.48"), PRIVATE)
FIRST, SECOND = "127.0.0.31", "127.0.0.32"
PANEL = "https://panel.example"
START = "stm.cgi?upgrade=devstart3"


def table(name: str, **keys: Any) -> str:
    """Write a table of a controller; texts and lists look the same in JSON and TOML."""
    lines = (f"{key} = {msgspec.json.encode(value).decode()}" for key, value in keys.items())
    return "\n".join(("[[controllers]]", f'name = "{name}"', *lines)) + "\n"


async def start(node: LoopNode, fleet: FleetFile) -> list[str]:
    return await start_controllers(
        node.web, fleet.controllers, as_json=False, tenants=fleet.tenants
    )


async def ask(node: LoopNode, name: str, target: str, method: str = "GET", **request: Any) -> Reply:
    """Send a request to a controller, behind the door."""
    path, mark, query = target.partition("?")
    headers, peer = request.get("headers", {}), request.get("peer", "127.0.0.1")
    asked = Request(method, path, query if mark else None, headers, b"", peer)
    answer: Any = node.member(name).entrance.handler(asked)
    reply: Reply = answer if isinstance(answer, Reply) else await answer
    return reply


async def health(node: LoopNode, name: str) -> Any:
    return msgspec.json.decode((await ask(node, name, "/health")).body)


async def test_controller_accepts_firmware_at_its_address(tmp_path: Path) -> None:
    (tmp_path / "owner.pub").write_bytes(PUBLIC)
    text = table("keyed", address=FIRST, firmware_key="owner.pub") + table("open", address=SECOND)
    port = free_port()
    async with loop_node(tftp_port=port) as node:
        assert await start(node, read(tmp_path, text)) == []
        assert (await node.post("send", command=START))["done"] == 2
        for name in ("keyed", "open"):
            assert (await ask(node, name, "/outs.cgi")).status == 503
            assert node.member(name).controller.open_ports()["tftp"] == port
        with pytest.raises(TftpRefused, match="no key to verify it with"):
            await asyncio.to_thread(send, port, IMAGE, host=SECOND)
        await asyncio.to_thread(send, port, IMAGE, host=FIRST)
        versions = {name: node.member(name).controller.profile.sw for name in ("keyed", "open")}
        assert versions == {"keyed": "1.48", "open": "1.75"}
        assert (await health(node, "keyed")).get("without_effect") is None


async def test_unsigned_firmware_is_refused_at_the_address_of_a_controller(tmp_path: Path) -> None:
    (tmp_path / "owner.pub").write_bytes(PUBLIC)
    port = free_port()
    async with loop_node(tftp_port=port) as node:
        await start(node, read(tmp_path, table("a", address=FIRST, firmware_key="owner.pub")))
        await node.post("send", command=START)
        with pytest.raises(TftpRefused, match="is not signed"):
            await asyncio.to_thread(send, port, build_image(["3.9"], "1.48"), host=FIRST)
        assert (await ask(node, "a", "/outs.cgi")).status == 200


async def test_controller_accepts_firmware_at_its_new_address() -> None:
    port = free_port()
    async with loop_node(tftp_port=port) as node:
        await node.node.door.listen("127.0.0.1", 0)
        await node.post("add", name="a", address=FIRST)
        await node.post("place", name="a", address=SECOND)
        await node.post("send", command=START)
        with pytest.raises(TftpRefused, match="no key"):
            await asyncio.to_thread(send, port, IMAGE, host=SECOND)


async def test_health_names_keys_without_effect_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "owner.pub").write_bytes(PUBLIC)
    given = {
        "firmware_key": "owner.pub",
        "firmware_check_url": "https://example.org/newest.json",
        "trusted": ["192.0.2.0/24"],
        "mqtt_certificate": "mqtt.crt",
        "mqtt_key": "mqtt.key",
        "cors_origins": [PANEL],
    }
    text = table("a", **given) + table("plain")
    async with loop_node() as node:
        await start(node, read(tmp_path, text))
        said = await health(node, "a")
        assert said["status"] == "ok"
        assert said["without_effect"].keys() == given.keys() - {"cors_origins"}
        assert "no address of its own" in said["without_effect"]["firmware_key"]
        assert "loopback" in said["without_effect"]["trusted"]
        assert "captures" in said["without_effect"]["mqtt_key"]
        assert "without_effect" not in await health(node, "plain")


async def test_trusted_networks_apply_to_one_controller(tmp_path: Path) -> None:
    text = table("a", trusted=["192.0.2.0/24"]) + table("b")
    async with loop_node(host="0.0.0.0") as node:
        await start(node, read(tmp_path, text))
        statuses = {
            (name, peer): (await ask(node, name, "/outs.cgi?out0=1", peer=peer)).status
            for name in ("a", "b")
            for peer in ("192.0.2.7", "198.51.100.7")
        }
        assert statuses == {
            ("a", "192.0.2.7"): 200,
            ("a", "198.51.100.7"): 401,
            ("b", "192.0.2.7"): 401,
            ("b", "198.51.100.7"): 401,
        }


async def test_other_sites_may_use_the_controller_that_names_them(tmp_path: Path) -> None:
    text = table("a", cors_origins=[PANEL]) + table("b")
    wanted = {"origin": PANEL, "access-control-request-method": "GET"}
    async with loop_node() as node:
        await start(node, read(tmp_path, text))
        opened = await ask(node, "a", "/outs.cgi", "OPTIONS", headers=wanted)
        assert dict(opened.headers)["Access-Control-Allow-Origin"] == PANEL
        shut = await ask(node, "b", "/outs.cgi", "OPTIONS", headers=wanted)
        assert "Access-Control-Allow-Origin" not in dict(shut.headers)


async def test_takeover_applies_the_machine_keys_of_the_file(tmp_path: Path) -> None:
    async with loop_node(host="0.0.0.0") as node:
        await start(node, read(tmp_path, table("a", trusted=["192.0.2.0/24"])))
        member = node.member("a")
        # As nodes that share a database do.
        await node.node.drop([member])
        assert await node.node.start_some([member.number]) == {}
        assert (await ask(node, "a", "/outs.cgi?out0=1", peer="192.0.2.7")).status == 200


async def test_serial_port_and_bus_belong_to_one_controller(tmp_path: Path) -> None:
    text = table("a", serial_port="/dev/no-tty1", serial_modbus="/dev/no-tty2") + table("b")
    async with loop_node(real_time=True, capture=True) as node:
        await start(node, read(tmp_path, text))
        chosen = "stm.cgi?modbus_sensor=06&usart_sensor=3"
        assert (await node.post("send", command=chosen))["done"] == 2
        first, second = (node.member(name).controller for name in ("a", "b"))
        await until(lambda: {"serial port", "Modbus slot 1"} <= first.troubles.keys())
        assert "/dev/no-tty2" in first.troubles["Modbus slot 1"]
        assert not any("no-tty" in trouble for trouble in second.troubles.values())


async def test_release_check_runs_only_with_an_address(tmp_path: Path) -> None:
    text = table("a", firmware_check_url="http://127.0.0.1:9/newest.json") + table("b")
    async with loop_node(capture=False) as node:
        await start(node, read(tmp_path, text))
        assert (await node.post("send", command="eeprom.cgi?bit1=1"))["done"] == 2
        troubles = {
            name: msgspec.json.decode((await ask(node, name, "/api/firmware")).body)["trouble"]
            for name in ("a", "b")
        }
        assert troubles["a"] is None
        assert "firmware_check_url" in troubles["b"]


@pytest.mark.needs_program("mosquitto")
async def test_controller_presents_its_certificate_to_the_broker(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    folder.mkdir()
    broker = Broker(folder, tls=True)
    certificate, key = broker.require_certificates()
    await broker.start()
    shown = {"mqtt_certificate": str(certificate), "mqtt_key": str(key)}
    text = table("a", **shown) + table("b")
    settings = f"stm.cgi?mqtt=1*localhost*{broker.port}*{quote(USER)}*{quote(PASSWORD)}*{{}}*1"
    try:
        async with loop_node(
            real_time=True, capture=False, allow_local_targets=True, ca_file=str(broker.ca_file)
        ) as node:
            assert await start(node, read(tmp_path, text)) == []
            for name in ("a", "b"):
                sent = await node.post("send", command=settings.format(name), name=name)
                assert sent["done"] == 1
            first, second = (node.member(name).controller for name in ("a", "b"))
            await until(lambda: first.engine.values["MQTT"] == 1)
            await until(lambda: "MQTT broker" in second.troubles)
            assert "MQTT broker" not in first.troubles
    finally:
        await broker.kill()


@pytest.mark.parametrize(
    ("keys", "line", "words"),
    [
        ({"firmware_key": "none.pub"}, 3, "cannot be read"),
        ({"mqtt_key": "a.key"}, 3, "belong together"),
        ({"trusted": ["127.0.0.0/8"]}, 3, "includes this machine"),
        ({"cors_origins": ["*"]}, 3, "is not an origin"),
        ({"firmware_check_url": "ftp://x"}, 3, "is not an HTTP or HTTPS URL"),
        ({"serial_port": "/dev/a", "serial_modbus": "/dev/a"}, 3, "are the same device"),
        ({"trusted_role": "owner"}, 3, "trusted_role must be"),
    ],
)
def test_invalid_key_is_reported_at_its_line_and_the_rest_is_read(
    tmp_path: Path, keys: dict[str, Any], line: int, words: str
) -> None:
    fleet = read(tmp_path, table("a", **keys) + table("b"))
    (mistake,) = fleet.mistakes
    assert f"fleet.toml, line {line}: " in mistake.sentence
    assert words in mistake.sentence
    assert [one.record.name for one in fleet.controllers] == ["b"]


def test_device_has_one_owner(tmp_path: Path) -> None:
    text = table("a", serial_port="/dev/x") + table("b", serial_modbus="/dev/x")
    (mistake,) = read(tmp_path, text).mistakes
    assert "b cannot use /dev/x, because a does" in mistake.sentence
    (mistake,) = read(tmp_path, table("a-{n}", count=2, serial_port="/dev/x")).mistakes
    assert "a-2 cannot use /dev/x, because a-1 does" in mistake.sentence


async def test_tenant_gets_machine_parts_only_if_the_file_names_it(
    tmp_path: Path,
) -> None:
    lane = MemoryLane()
    keys = {"cors_origins": [PANEL]}
    async with loop_node(lane) as node:
        await start(node, read(tmp_path, 'tenants = ["acme"]\n'))
        await node.post("add", name="a", tenant="acme")
    async with loop_node(lane) as node:
        (refusal,) = await start(node, read(tmp_path, 'tenants = ["acme"]\n' + table("a", **keys)))
        assert "fleet.toml, line 2: a failed to start" in refusal
        assert 'Write tenant = "acme" there' in refusal
    async with loop_node(lane) as node:
        named = 'tenants = ["acme"]\n' + table("a", tenant="acme", **keys)
        assert await start(node, read(tmp_path, named)) == []
        refusal = await node.expect_refusal(409, "tenant/give", name="a")
        assert "assigns resources of the machine" in refusal


async def test_api_grants_no_machine_parts() -> None:
    async with loop_node() as node:
        for key in ("serial_port", "trusted", "firmware_key", "mqtt_certificate", "cors_origins"):
            assert "Unknown parameter" in await node.expect_refusal(
                400, "add", name="a", **{key: "/x"}
            )
