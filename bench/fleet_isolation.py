"""One controller of a node under a flood: how much slower its neighbour answers.

A node runs on one core, and the clients on the other. The neighbour switches an output every few
milliseconds, as a program does that regulates by requests: in turns with nobody beside it, and
beside another controller that is flooded on sixteen connections, cannot get rid of its messages, or
has rules that set each other off for ever.
"""

import http.client
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from bench.figure import Figure, listed, need, progress
from bench.serving import LOAD_CORE, PATIENCE_S, Served, printing_its_address
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
#: Informs to a port at which nobody listens, for each time that a virtual output is switched on.
TO_NOBODY = "/stm.cgi?snmptrap=1*127.0.0.1*9*alarm&snmpinform1=1"
ALARM = "/inpa.cgi?event=0*104*0*1*0*0*40*0*0*0*0*0*1*0*0*0&eventon=0*1"
#: More than the outbox keeps.
MESSAGES = 1_200
#: As many rules as there can be: eight reverse the event variable that they look at, and twelve an
#: output each time that one of these is reversed. All of them act in every step, for ever.
ENDLESS_RULES = "&".join(
    f"event={n}*{104 + n % 8}*0*1*0*0*{10 + n if n < 8 else n % 6}*0*0*0*0*0*2*0*0*0&eventon={n}*1"
    for n in range(20)
)
SET_OFF = "/outs.cgi?" + "&".join(f"vout{n}=1" for n in range(8))
#: What gives them reasons to go on: four meters of a load that is on, with twenty pulses a second.
METERS = "/sim.cgi?" + "&".join(
    f"plant=meter*switch:PWM0*reading:INPD{n}*watts:7200*pulses:10000" for n in range(1, 5)
)
Trouble = Callable[[], AbstractContextManager[None]]


class Place(NamedTuple):
    """A controller of the node, as a client sees it."""

    node: Served
    name: str

    @property
    def host(self) -> str:
        return f"{self.name}.localhost"

    def connection(self) -> http.client.HTTPConnection:
        port = int(self.node.address.rpartition(":")[2])
        return http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def get(self, connection: http.client.HTTPConnection, target: str) -> None:
        connection.request("GET", target, headers={"Host": self.host})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{self.name} refused {target}: {text.decode()}")


def measure(quick: bool) -> list[Figure]:
    need("wrk", "taskset")
    rounds, switches = (1, 40) if quick else (7, 200)
    with tempfile.TemporaryDirectory() as folder, _node(folder) as node:
        neighbour, other = Place(node, "neighbour"), Place(node, "other")
        for place in (neighbour, other):
            _add(place)
        figures = [
            _compared(
                neighbour, f"under a flood of {what}", _flood(other, script), rounds, switches
            )
            for what, script in FLOODS.items()
        ]
        full = _full_outbox(other, MESSAGES // (10 if quick else 1))
        figures.append(_compared(neighbour, "with a full outbox", full, rounds, switches))
        endless = _endless_rules(other)
        figures.append(_compared(neighbour, "with endless rules", endless, rounds, switches))
        return figures


@contextmanager
def _node(folder: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "leverframe", "fleet", "run", "--port", "0"]
    with printing_its_address([*command, "--data", folder, "--no-discovery"]) as node:
        yield node


def _add(place: Place) -> None:
    command = [sys.executable, "-m", "leverframe", "fleet", "add", "--name", place.name]
    subprocess.run([*command, "--node", place.node.address], check=True, capture_output=True)


def _flood(place: Place, script: str) -> Trouble:
    """Return what asks a controller on many connections without a pause."""

    @contextmanager
    def flood() -> Iterator[None]:
        command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-c{CONNECTIONS}"]
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
    """Return what fills the outbox of a controller, which goes on trying to send from it."""

    @contextmanager
    def full_outbox() -> Iterator[None]:
        connection = place.connection()
        place.get(connection, TO_NOBODY)
        place.get(connection, ALARM)
        for number in range(2 * messages):
            place.get(connection, f"/outs.cgi?vout0={1 - number % 2}")
        yield
        place.get(connection, TO_NOBODY.replace("=1*", "=0*", 1))
        connection.close()

    return full_outbox


def _endless_rules(place: Place) -> Trouble:
    """Return what gives a controller rules that set each other off in every second."""

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


def _compared(
    neighbour: Place, beside: str, trouble: Trouble, rounds: int, switches: int
) -> Figure:
    alone, troubled = [], []
    for _ in range(rounds):
        progress()
        alone.append(_switching_ms(neighbour, switches))
        with trouble():
            # The flood has begun when the first requests of both were answered.
            _switching_ms(neighbour, 10)
            troubled.append(_switching_ms(neighbour, switches))
    slower = statistics.median(troubled) / statistics.median(alone)
    return Figure(
        f"a switch beside a controller {beside}",
        f"{statistics.median(troubled):.2f} ms, {slower:.2f} of that alone",
        f"alone {statistics.median(alone):.2f} ms",
        f"under {GOAL_SLOWER:g}",
        slower < GOAL_SLOWER,
        f"{listed(troubled)}; {listed(alone, 'ms')}",
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
