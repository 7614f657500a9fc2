"""The requests of the client, and replies that the test defines."""

import json
import socket
from urllib.request import Request, urlopen

import pytest
from heating import Heating

from leverframe.testing import BadCall, NotRequested, TwinRefused, faults

pytestmark = pytest.mark.leverframe(hw="3.5", sw="1.49", modbus=True)


def test_heater_is_switched_once(twin):
    twin.sense(DS1=18)
    Heating(twin.url).regulate()
    twin.assert_requested("/outs.cgi", times=1, query={"out0": 1})
    with pytest.raises(NotRequested, match="expected twice, was once"):
        twin.assert_requested("/json/all.json", times=2)


def test_headers_and_bodies_are_recorded_without_secrets(twin):
    twin.reply("/report", status=201)
    body = json.dumps({"level": 3, "password": "secret"}).encode()
    urlopen(Request(f"{twin.url}/report", body, {"Content-Type": "application/json"}))
    (request,) = twin.requests("/report", method="POST")
    assert request.json() == {"level": 3, "password": "***"}
    assert request.headers["content-type"] == "application/json"
    assert request.duration < 1


def test_path_returns_the_reply_of_the_test(twin):
    with twin.reply("/own.json", json={"mode": "night"}, headers={"ETag": '"7"'}):
        assert json.loads(twin.get("/own.json")) == {"mode": "night"}
    with pytest.raises(TwinRefused, match="404"):
        twin.get("/own.json")
    with twin.reply("/json/all.json", '{"ds1":"300"}', times=1):
        assert Heating(twin.url).temperature() == 30


def test_relay_is_welded(twin):
    with twin.fault(faults.stuck_output("OUT0", at="on")):
        assert (twin.state["OUT0"], twin.pins["OUT0"]) == (0, 1)


def test_modbus_answer_is_cut_in_half(twin):
    read_coils = bytes.fromhex("0001 0000 0006 01 01 0000 0006")
    with twin.fault(faults.modbus("cut")), socket.create_connection(twin.modbus) as connection:
        connection.sendall(read_coils)
        assert len(connection.recv(100)) == 5


def test_misspelt_path_is_an_error(twin):
    with pytest.raises(BadCall, match="Did you mean '/json/all.json'"):
        twin.requests("/json/al.json")


# --- one unit for all tests of this module --------------------------------------------------------


@pytest.fixture(scope="module")
def cellar(module_twin_factory):
    return module_twin_factory(hw="3.0", name="cellar")


def test_shared_unit_is_switched(cellar, module_twin):
    cellar.command("outs.cgi?out0=1")
    module_twin.command("outs.cgi?out1=1")


def test_shared_unit_keeps_its_state(cellar, module_twin):
    assert cellar.state["OUT0"] == 1
    assert module_twin.state["OUT1"] == 1
    module_twin.reset()
    assert module_twin.state["OUT1"] == 0
