"""One controller of a node under a flood: how much it slows its neighbour's answers.

The node runs on one core, and the clients on the other. The neighbour switches an output every few
milliseconds, like a program that regulates by requests. It does so alone and, in alternation, next
to another controller. That controller is flooded by HTTP, Modbus TCP, SNMP or MQTT, is followed on
many streams, cannot deliver its messages, or has rules that trigger each other endlessly.
"""

import http.client
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from bench.figure import Figure, Reference, need, progress
from bench.flood import COMMUNITY
from bench.serving import (
    HOST,
    LOAD_CORE,
    PATIENCE_S,
    Served,
    free_port,
    printing_its_address,
    wait_for,
)
from bench.wrk import SCRIPTS

GOAL_SLOWER = 1.2
PAUSE_S = 0.005
CONNECTIONS = 16
FLOODS = {
    "switching": "switch_in_turn.lua",
    "reading": "status_in_turn.lua",
    "changes of settings": "change_name.lua",
    "changes that are refused": "refused_change.lua",
}
#: The address of the flooded controller, by which Modbus TCP and SNMP identify it.
ADDRESS = "127.0.0.71"
BY_LOAD_CORE = ("taskset", "-c", str(LOAD_CORE))
#: An endless sequence of MQTT commands, one per line.
COMMANDS = r"yes 'out1=1&out2=0\nout1=0&out2=1' | sed 's/\\n/\n/'"
#: Informs to a port without a listener, sent each time that a virtual output is switched on.
TO_NO_LISTENER = "/stm.cgi?snmptrap=1*127.0.0.1*9*alarm&snmpinform1=1"
ALARM = "/inpa.cgi?event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1"
#: More messages than the outbox keeps.
MESSAGES = 1_200
#: The maximum number of rules: eight reverse the event variable of their condition, and twelve
#: reverse an output each time one of these variables changes. All of them act in every step,
#: endlessly.
ENDLESS_RULES = "&".join(
    f"event={n}*{104 + n % 8}*0*1*0*0*{10 + n if n < 8 else n % 6}*0*0*0*0*0*2*0*0*0&eventon={n}*1"
    for n in range(20)
)
SET_OFF = "/outs.cgi?" + "&".join(f"vout{n}=1" for n in range(8))
#: The load of the busy controllers: four meters of a running load, at twenty pulses per second.
METERS = "/sim.cgi?" + "&".join(
    f"plant=meter*switch:PWM0*reading:INPD{n}*watts:7200*pulses:10000" for n in range(1, 5)
)
Trouble = Callable[[], AbstractContextManager[None]]


class Place(NamedTuple):
    """A controller of the node, as clients reach it."""

    node: Served
    name: str

    @property
    def host(self) -> str:
        return f"{self.name}.localhost"

    @property
    def port(self) -> int:
        return int(self.node.address.rpartition(":")[2])

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_S)

    def request(self, target: str) -> None:
        connection = self.connection()
        self.get(connection, target)
        connection.close()

    def get(self, connection: http.client.HTTPConnection, target: str) -> None:
        connection.request("GET", target, headers={"Host": self.host})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{self.name} refused {target}: {text.decode()}")


def measure(quick: bool) -> list[Figure]:
    need("wrk", "taskset", "mosquitto", "mosquitto_pub")
    rounds, switches = (1, 40) if quick else (7, 200)
    modbus_port, snmp_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder, _node(folder, modbus_port, snmp_port) as node:
        neighbour, other = Place(node, "neighbour"), Place(node, "other")
        _add(neighbour)
        _add(other, "--address", ADDRESS)
        troubles = {
            f"under a flood of {what}": _flood(other, script) for what, script in FLOODS.items()
        }
        troubles |= {
            "under a flood by Modbus TCP": _modbus_flood(other, modbus_port),
            "under a flood by SNMP": _snmp_flood(other, snmp_port),
            "under a flood by MQTT": _mqtt_flood(other),
            "under a flood of switching, with 64 streams": _streams(other),
            "with a full outbox": _full_outbox(other, MESSAGES // (10 if quick else 1)),
            "with endless rules": _endless_rules(other),
        }
        return [
            _compare(neighbour, beside, trouble, rounds, switches)
            for beside, trouble in troubles.items()
        ]


@contextmanager
def _node(folder: str, modbus_port: int, snmp_port: int) -> Iterator[Served]:
    command = [sys.executable, "-m", "leverframe", "fleet", "run", "--port", "0"]
    # The broker of the MQTT flood runs on this machine.
    command += ["--allow-local-targets"]
    command += ["--modbus-port", str(modbus_port), "--snmp-port", str(snmp_port)]
    with printing_its_address([*command, "--data", folder, "--no-discovery"]) as node:
        yield node


def _add(place: Place, *options: str) -> None:
    command = [sys.executable, "-m", "leverframe", "fleet", "add", "--name", place.name, *options]
    subprocess.run([*command, "--node", place.node.address], check=True, capture_output=True)


@contextmanager
def _loading(command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command line on the core of the clients."""
    loading = subprocess.Popen(
        [*BY_LOAD_CORE, "sh", "-c", command],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield loading
    finally:
        os.killpg(loading.pid, signal.SIGTERM)
        loading.communicate(timeout=PATIENCE_S)


@contextmanager
def _flooding(kind: str, port: int) -> Iterator[None]:
    with _loading(f"exec {sys.executable} -m bench.flood {kind} {ADDRESS} {port}") as program:
        assert program.stdout is not None
        if program.stdout.readline() != "flooding\n":
            raise SystemExit(f"the flood of {kind} did not begin")
        yield


def _modbus_flood(place: Place, port: int) -> Trouble:
    @contextmanager
    def flood() -> Iterator[None]:
        place.request("/stm.cgi?modbuson=1")
        with _flooding("modbus", port):
            yield
        place.request("/stm.cgi?modbuson=0")

    return flood


def _snmp_flood(place: Place, port: int) -> Trouble:
    @contextmanager
    def flood() -> Iterator[None]:
        place.request(f"/stm.cgi?snmp=1*{COMMUNITY}*")
        with _flooding("snmp", port):
            yield
        place.request(f"/stm.cgi?snmp=0*{COMMUNITY}*")

    return flood


def _mqtt_flood(place: Place) -> Trouble:
    """Switch a controller by MQTT as fast as a broker accepts commands."""

    @contextmanager
    def flood() -> Iterator[None]:
        port = free_port()
        with _loading(f"exec mosquitto -p {port}"):
            wait_for(port)
            place.request(f"/stm.cgi?mqtt=1*{HOST}*{port}***flooded*0")
            with _loading(f"{COMMANDS} | mosquitto_pub -p {port} -t flooded/cmd -l"):
                yield
        place.request(f"/stm.cgi?mqtt=0*{HOST}*{port}***flooded*0")

    return flood


def _streams(place: Place) -> Trouble:
    """Follow a controller on many streams while it is switched without a pause."""

    @contextmanager
    def follow() -> Iterator[None]:
        with _flooding("stream", place.port), _flood(place, FLOODS["switching"])():
            yield

    return follow


def _flood(place: Place, script: str) -> Trouble:
    """Send requests to a controller on many connections without a pause."""

    @contextmanager
    def flood() -> Iterator[None]:
        command = [*BY_LOAD_CORE, "wrk", "-t1", f"-c{CONNECTIONS}"]
        command += [f"-d{PATIENCE_S}s", "-H", f"Host: {place.host}"]
        command += ["-s", str(SCRIPTS / script), f"{place.node.address}/"]
        flooding = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            flooding.terminate()
            flooding.wait(PATIENCE_S)

    return flood


def _full_outbox(place: Place, messages: int) -> Trouble:
    """Fill the outbox of a controller, which then keeps trying to send."""

    @contextmanager
    def full_outbox() -> Iterator[None]:
        connection = place.connection()
        place.get(connection, TO_NO_LISTENER)
        place.get(connection, ALARM)
        for number in range(2 * messages):
            place.get(connection, f"/outs.cgi?vout0={1 - number % 2}")
        yield
        place.get(connection, TO_NO_LISTENER.replace("=1*", "=0*", 1))
        connection.close()

    return full_outbox


def _endless_rules(place: Place) -> Trouble:
    """Give a controller rules that trigger each other every second."""

    @contextmanager
    def endless_rules() -> Iterator[None]:
        connection = place.connection()
        place.get(connection, f"/inpa.cgi?{ENDLESS_RULES}")
        place.get(connection, SET_OFF)
        place.get(connection, "/stm.cgi?pwmd=0100")
        place.get(connection, "/outs.cgi?pwm0=1")
        place.get(connection, METERS)
        yield
        place.get(connection, "/inpa.cgi?" + "&".join(f"eventon={n}*0" for n in range(20)))
        place.get(connection, SET_OFF.replace("=1", "=0"))
        place.get(connection, "/sim.cgi?plant=none")
        connection.close()

    return endless_rules


def _compare(neighbour: Place, beside: str, trouble: Trouble, rounds: int, switches: int) -> Figure:
    alone, troubled = [], []
    for _ in range(rounds):
        progress()
        alone.append(_switching_ms(neighbour, switches))
        with trouble():
            # Both have answered their first requests, so the flood has started.
            _switching_ms(neighbour, 10)
            troubled.append(_switching_ms(neighbour, switches))
    slower = statistics.median(troubled) / statistics.median(alone)
    return Figure(
        f"a switch beside a controller {beside}",
        statistics.median(troubled),
        "ms",
        reference=Reference("that alone", statistics.median(alone), "ms", slower),
        goal=f"under {GOAL_SLOWER:g}",
        met=slower < GOAL_SLOWER,
        rounds={"ms": troubled, "alone ms": alone},
    )


def _switching_ms(place: Place, switches: int) -> float:
    """Return the median time of a switch."""
    connection = place.connection()
    took = []
    for number in range(switches):
        began = time.perf_counter()
        place.get(connection, f"/outs.cgi?out0={number % 2}")
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_S)
    connection.close()
    return statistics.median(took)
