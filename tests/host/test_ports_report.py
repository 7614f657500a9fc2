"""Ports of a controller: shown where users and scripts look, and refused if they are in use."""

import http.client
import json
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from leverframe.host.configuration import read_config
from leverframe.host.ports import redirect_port
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import Request
from leverframe.server.routes.sign_in import redirect_to_https
from tests.host.controller_process import (
    PATIENCE_S,
    PROGRAM,
    ControllerProcess,
    controller_process,
)


def read_document(process: ControllerProcess, path: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(process.ask(path)[1])
    return answer


def switch_on(process: ControllerProcess) -> None:
    assert process.ask("/stm.cgi?modbuson=1")[0] == 200
    assert process.ask("/stm.cgi?snmp=1*watch*change")[0] == 200


def free_ports() -> tuple[str, ...]:
    return ("--modbus-port", "0", "--snmp-port", "0")


def test_ports_are_reported_when_opened_and_in_the_first_line(tmp_path: Path) -> None:
    with controller_process(tmp_path, *free_ports()) as process:
        assert read_document(process, "/health")["ports"] == {"http": process.port}
        switch_on(process)
        ports = read_document(process, "/health")["ports"]
        assert ports.keys() == {"http", "modbus", "snmp"}
        assert read_document(process, "/api/state")["ports"] == ports
        with socket.create_connection(("127.0.0.1", ports["modbus"]), PATIENCE_S):
            pass
        assert process.ask("/stm.cgi?modbuson=0")[0] == 200
        assert "modbus" not in read_document(process, "/health")["ports"]
        assert process.ask("/stm.cgi?modbuson=1")[0] == 200
    with controller_process(tmp_path, *free_ports()) as process:
        ports = read_document(process, "/health")["ports"]
        beside = f"and Modbus TCP on port {ports['modbus']} and SNMP on UDP port {ports['snmp']} "
        assert f":{process.port}/ {beside}- stop with Ctrl+C" in process.printed


@pytest.mark.thorough
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_script_receives_all_ports_as_json(tmp_path: Path, host: str) -> None:
    command = [*PROGRAM, "run", "--json", "--host", host, "--port", "0", "--no-mdns"]
    with subprocess.Popen(
        [*command, "--no-discovery", "--tls", "--data", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = [json.loads(process.stdout.readline())]
        if host == "0.0.0.0":
            assert said[0].keys() == {"event", "name", "password"}
            said.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        assert process.wait(PATIENCE_S) == 0
    ready = said[-1]
    assert ready["event"] == "ready"
    shown = re.fullmatch(r"https://([0-9a-z.-]+):([0-9]+)/", ready["url"])
    assert shown is not None
    # A server on all addresses names one that other machines can reach.
    assert (shown[1] == host) is (host != "0.0.0.0")
    assert int(shown[2]) == ready["ports"]["http"]
    assert re.fullmatch(r"[0-9A-F]{2}(:[0-9A-F]{2})+", ready["fingerprint"])
    assert (ready["name"][:11], ready["mac"][:3]) == ("leverframe-", "02:")
    assert rest == ""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "option", "command", "setting"),
    [
        (socket.SOCK_STREAM, "--modbus-port", "modbuson=1", "modbus_tcp"),
        (socket.SOCK_DGRAM, "--snmp-port", "snmp=1*watch*change", "snmp"),
    ],
)
def test_service_whose_port_is_in_use_is_not_switched_on(
    tmp_path: Path, kind: socket.SocketKind, option: str, command: str, setting: str
) -> None:
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            other.listen()
        taken = other.getsockname()[1]
        with controller_process(tmp_path, option, str(taken)) as process:
            status, body = process.ask(f"/stm.cgi?{command}")
            detail = json.loads(body)["detail"]
            assert status == 409
            assert f"Port {taken} of 127.0.0.1 cannot be used" in detail
            assert option[2:].replace("-", "_") in detail
            assert not read_document(process, "/api/settings")[setting]["enabled"]
            assert read_document(process, "/health")["status"] == "ok"
            # Nothing of the request was done.
            assert process.ask(f"/stm.cgi?oname=0Pump&{command}")[0] == 409
            assert read_document(process, "/api/settings")["outputs"][0]["name"] == ""
            other.close()
            assert process.ask(f"/stm.cgi?{command}")[0] == 200
            assert taken in read_document(process, "/health")["ports"].values()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "option", "command"),
    [
        (socket.SOCK_STREAM, "--modbus-port", "modbuson=1"),
        (socket.SOCK_DGRAM, "--snmp-port", "snmp=1*watch*change"),
    ],
)
def test_port_that_was_taken_at_the_start_is_refused_again_until_it_is_free(
    tmp_path: Path, kind: socket.SocketKind, option: str, command: str
) -> None:
    with controller_process(tmp_path, option, "0") as process:
        assert process.ask(f"/stm.cgi?{command}")[0] == 200
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            other.listen()
        taken = other.getsockname()[1]
        with controller_process(tmp_path, option, str(taken)) as process:
            assert read_document(process, "/health")["status"] == "degraded"
            for request in (command, f"oname=0Pump&{command}"):
                status, body = process.ask(f"/stm.cgi?{request}")
                assert status == 409
                assert f"Port {taken} of 127.0.0.1 cannot be used" in json.loads(body)["detail"]
            # Unrelated settings can still be changed.
            assert process.ask("/stm.cgi?oname=0Fan")[0] == 200
            assert process.log.read_text().count("cannot be used") == 1
            other.close()
            assert process.ask(f"/stm.cgi?{command}")[0] == 200
            assert taken in read_document(process, "/health")["ports"].values()
            assert read_document(process, "/health")["status"] == "ok"


def test_plain_port_beside_https_leads_there(tmp_path: Path) -> None:
    with controller_process(tmp_path, "--tls", "--redirect-port", "0") as process:
        plain = int(re.findall(r"and redirect from port (\d+) ", process.printed)[0])
        connection = http.client.HTTPConnection("127.0.0.1", plain, timeout=PATIENCE_S)
        connection.request("GET", "/outs.cgi?out0=1")
        answer = connection.getresponse()
        assert answer.status == 308
        assert answer.getheader("Location") == f"https://127.0.0.1:{process.port}/outs.cgi?out0=1"
        connection.close()


@pytest.mark.thorough
def test_plain_port_that_is_taken_is_a_trouble_and_the_rest_runs(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        with controller_process(tmp_path, "--tls", "--redirect-port", taken) as process:
            assert "redirect from" not in process.printed
            assert f"port {taken} cannot be used" in process.log.read_text().lower()


@pytest.mark.parametrize(
    ("configured", "https_port", "expected"),
    [({}, 443, 80), ({}, 8080, None), ({"redirect_port": 8080}, 443, 8080)],
)
def test_usual_ports_go_together(
    configured: dict[str, Any], https_port: int, expected: int | None
) -> None:
    assert redirect_port(read_config(None, configured), https_port) == expected


@pytest.mark.parametrize(
    ("host", "port", "location"),
    [
        ("127.0.0.1:80", 443, "https://127.0.0.1/x?y"),
        ("127.0.0.1", 8443, "https://127.0.0.1:8443/x?y"),
        ("[::1]:80", 8443, "https://[::1]:8443/x?y"),
    ],
)
def test_way_to_https_has_the_port_of_https(host: str, port: int, location: str) -> None:
    request = Request("GET", "/x", "y", {"host": host})
    reply = redirect_to_https(OwnNames(), request, port=port)
    assert dict(reply.headers)["Location"] == location
