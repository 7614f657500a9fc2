"""Faults of a twin as clients see them from outside: httpx, requests and the makers' library.

What answers look like is in `tests/server/test_faulty_answers.py`, Modbus and MQTT in
`test_byte_faults.py`.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
from tinytoolslib.models import get_version

from leverframe.devices.simulated.fault_catalogue import FAULTS, HTTP, MODBUS, MQTT
from leverframe.testing import Twin, faults
from tests.patience import PATIENCE_S


@pytest.fixture
def twin() -> Iterator[Twin]:
    with Twin(seed=1) as one:
        yield one


def state(twin: Twin) -> dict[str, Any]:
    found: dict[str, Any] = requests.get(f"{twin.url}/api/state", timeout=PATIENCE_S).json()
    return found


def pin(twin: Twin, label: str) -> float:
    shown = requests.get(f"{twin.url}/api/sim", timeout=PATIENCE_S).json()
    found: float = shown["pins"][label]
    return found


def makers_reading(twin: Twin, key: str) -> Any:
    host, _, port = twin.url.removeprefix("http://").partition(":")
    found = get_version(host, port=int(port), with_device=True)
    assert found is not None
    return found["device_model"].get_all()[key]


def test_status_file_says_several_raw_values_and_requests_are_noted(twin: Twin) -> None:
    twin.sense(DS1=21.5, DS2=22.5)
    twin.raw(ds1="-1270", ds2="8500")
    with twin.fault(faults.slow("10ms")):
        said = httpx.get(f"{twin.url}/json/all.json", timeout=PATIENCE_S).json()
    assert (str(said["ds1"]), str(said["ds2"])) == ("-1270", "8500")
    assert makers_reading(twin, "ds1") == pytest.approx(-127.0)


def test_raw_text_stands_for_all_of_a_name_with_quotes_in_it(twin: Twin) -> None:
    twin.command("stm.cgi?oname=0a%22%5Cb%22,c")
    twin.raw(oname0="raw")
    assert json.loads(twin.get("/json/status.json"))["oname0"] == "raw"


def test_journal_of_requests_says_what_clients_got(twin: Twin) -> None:
    with twin.fault(faults.status(500)):
        assert requests.get(f"{twin.url}/outs.cgi?out0=1", timeout=PATIENCE_S).status_code == 500
    with twin.fault(faults.frozen()), pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{twin.url}/json/all.json", timeout=0.1)
    with twin.fault(faults.reset()), pytest.raises(httpx.ReadError):
        httpx.get(f"{twin.url}/json/all.json", timeout=PATIENCE_S)
    noted = [(one.path, one.status) for one in twin.requests()]
    assert noted == [("/outs.cgi", 500), ("/json/all.json", None), ("/json/all.json", None)]
    # What a unit refuses by a fault is not done.
    assert state(twin)["OUT0"] == 0


def test_relays(twin: Twin) -> None:
    with twin.fault(faults.stuck_output("OUT0")):
        requests.get(f"{twin.url}/outs.cgi?out0=1", timeout=PATIENCE_S)
        assert (state(twin)["OUT0"], pin(twin, "OUT0")) == (1, 0)
    assert pin(twin, "OUT0") == 1
    with twin.fault(faults.reversed_output("OUT1")):
        assert (state(twin)["OUT1"], pin(twin, "OUT1")) == (0, 1)
    with twin.fault(faults.bounce("OUT2", edges=2, apart="10ms")):
        requests.get(f"{twin.url}/outs.cgi?out2=1", timeout=PATIENCE_S)
        seen = []
        for _ in range(3):
            seen.append(pin(twin, "OUT2"))
            twin.advance("10ms")
        assert seen == [1, 0, 1]


def test_sensors(twin: Twin) -> None:
    twin.sense(DS1=20)
    with twin.fault(faults.reads_85("DS1")):
        assert makers_reading(twin, "ds1") == pytest.approx(85.0)
    for fault in (faults.absent("DS1"), faults.reads_minus_127("DS1")):
        with twin.fault(fault):
            assert state(twin)["DS1"] is None
    with twin.fault(faults.stuck("DS1")):
        twin.sense(DS1=30)
        assert state(twin)["DS1"] == 20
    for fault in (faults.noisy("DS1"), faults.drifting("DS1", per_hour=9), faults.spikes("DS1")):
        with twin.fault(fault):
            twin.advance("10min")
            seen = set()
            with httpx.Client(base_url=twin.url, timeout=PATIENCE_S) as client:
                for _ in range(60):
                    twin.advance("1s")
                    seen.add(client.get("/api/state").json()["DS1"])
            assert len(seen) > 1
        assert state(twin)["DS1"] == 30


def test_input(twin: Twin) -> None:
    twin.sense(INPD1=1)
    with twin.fault(faults.chatter("INPD1", edges=2, apart="10ms")):
        twin.sense(INPD1=0)
        seen = []
        for _ in range(3):
            seen.append(state(twin)["INPD1"])
            twin.advance("10ms")
    assert seen == [0, 1, 0]


def test_power(twin: Twin) -> None:
    twin.command("stm.cgi?oname=0Pump")
    twin.reboot(takes="8s")
    twin.advance("7s")
    with pytest.raises(httpx.ConnectError):
        httpx.get(twin.url, timeout=PATIENCE_S)
    with pytest.raises(requests.ConnectionError):
        requests.get(twin.url, timeout=PATIENCE_S)
    twin.advance("1s")
    assert state(twin)["OUT0"] == 0
    with twin.fault(faults.brown_out(cycles=2, off=1, on=1)):
        reached = []
        for _ in range(4):
            try:
                reached.append(
                    httpx.get(f"{twin.url}/json/status.json", timeout=PATIENCE_S).status_code
                )
            except httpx.ConnectError:
                reached.append(None)
            twin.advance("1s")
        assert reached == [None, 200, None, 200]
    twin.fault(faults.reboot(takes=0, loses="settings"))
    name = httpx.get(f"{twin.url}/api/settings", timeout=PATIENCE_S).json()["outputs"][0]["name"]
    assert name == ""
    with twin.fault(faults.refuse(), for_="5s"):
        with pytest.raises(httpx.ConnectError):
            httpx.get(twin.url, timeout=PATIENCE_S)
        twin.advance("5s")
        assert httpx.get(f"{twin.url}/json/status.json", timeout=PATIENCE_S).status_code == 200


def test_clock(twin: Twin) -> None:
    before = state(twin)["time"]
    with twin.fault(faults.clock_wrong(by=3600)):
        assert state(twin)["time"] == before + 3600
    with twin.fault(faults.clock_jumps(by=600, every="1min")):
        twin.advance("1min")
        assert state(twin)["time"] == before + 60
        twin.advance("1min")
        assert state(twin)["time"] == before + 720
    assert state(twin)["time"] == before + 120


def test_server_of_messages(twin: Twin) -> None:
    twin.rule(when="DS1 >= 30", then="eMail 1")
    with twin.fault(faults.down("mail")):
        twin.sense(DS1=31)
        outbox = httpx.get(f"{twin.url}/api/outbox", timeout=PATIENCE_S).json()
        assert (len(outbox["waiting"]), outbox["captured"]) == (1, [])
    (mail,) = twin.outbox.emails
    assert "DS1" in mail.text


def test_every_kind_is_seen_by_a_client_somewhere() -> None:
    here = {"refuse", "reboot", "brown_out", "clock_wrong", "clock_jumps", "down", "input_chatter"}
    here |= {"output_stuck", "output_reversed", "relay_bounce", "sensor_stuck", "sensor_noisy"}
    here |= {"sensor_drifting", "sensor_spikes", "sensor_absent", "sensor_85", "sensor_minus_127"}
    elsewhere = {name for name, kind in FAULTS.items() if kind.where in (HTTP, MODBUS, MQTT)}
    assert here | elsewhere == FAULTS.keys()
