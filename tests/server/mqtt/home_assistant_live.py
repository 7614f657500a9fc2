"""Home Assistant's core, the real Mosquitto and a controller: found, shown, switched, forgotten.

Home Assistant is too large a dependency for the suite. In an environment of its own, outside the
project, with the version of `paho-mqtt` that its MQTT integration names:

    python3.13 -m venv /tmp/ha
    /tmp/ha/bin/pip install homeassistant paho-mqtt==2.1.0
    python -m tests.server.mqtt.home_assistant_live /tmp/ha/bin/python
    python -m tests.server.mqtt.home_assistant_live /tmp/ha/bin/python --fleet

With --fleet the controllers are three of as many versions in one node, each asked by its name.
Everything listens on loopback, in a folder that goes away again. What never comes ends the run with
a sentence.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import requests

from tests.ports import free_ports

HOST = "127.0.0.1"
HOSTED = Path(__file__).with_name("home_assistant_host.py")
PATIENCE_S = 60.0
VERSIONS = {"old": ("3.0", "1.58a"), "middle": ("3.5", "1.49"), "new": ("3.9", "1.75")}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("python", help="of the environment that has Home Assistant")
    options.add_argument("--fleet", action="store_true", help="three controllers in one node")
    given = options.parse_args()
    python = given.python
    with tempfile.TemporaryDirectory(prefix="leverframe-") as folder, ExitStack() as running:
        broker, port, other_port = free_ports(3)
        running.enter_context(start(["mosquitto", "-p", str(broker)]))
        data = ["--data", f"{folder}/data", "--port", str(port), "--no-capture"]
        command = ["fleet", "run"] if given.fleet else ["run"]
        running.enter_context(start([sys.executable, "-m", "leverframe", *command, *data]))
        controller = Controller(f"http://{HOST}:{port}")
        wait_for("the controller", lambda: controller.ask("/health") is not None)
        hosted = [python, str(HOSTED), f"{folder}/ha", str(broker), str(other_port)]
        Path(folder, "ha").mkdir()
        assistant = Assistant(running.enter_context(start(hosted)))
        if given.fleet:
            number = judge_fleet(controller, assistant, broker)
        else:
            number = judge(controller, assistant, broker)
        print(f"Home Assistant {assistant.version}: {number} entities found, shown, switched, gone")
        return 0


@contextmanager
def start(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a program until the end of the block."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


class Controller:
    def __init__(self, url: str, name: str | None = None) -> None:
        """Ask at an address, in a node by the name of a controller."""
        self._url = url
        self._headers = {} if name is None else {"Host": f"{name}.localhost"}

    def of(self, name: str) -> "Controller":
        return Controller(self._url, name)

    def ask(self, target: str, method: str = "GET") -> requests.Response | None:
        try:
            reply = requests.request(
                method, f"{self._url}{target}", headers=self._headers, timeout=10
            )
        except requests.ConnectionError:
            return None
        reply.raise_for_status()
        return reply

    def output(self) -> int:
        reply = self.ask("/api/state")
        return -1 if reply is None else reply.json()["OUT0"]


class Assistant:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.version = self._line()["version"]

    def report(self, words: str) -> dict[str, str]:
        """Return state and name of every entity, by its ID."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()
        return self._line()

    def state(self, name: str) -> str:
        found = [x for x in self.report("states").values() if x.endswith(name)]
        return found[0].split()[0] if found else "none"

    def _line(self) -> dict[str, str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("Home Assistant has ended; run home_assistant_host.py to see why.")
        return json.loads(line)


def judge(controller: Controller, assistant: Assistant, broker: int) -> int:
    """Return how many entities there were."""
    named = "oname=0Pump&tname=0Boiler"
    controller.ask(f"/stm.cgi?mqtt=1*{HOST}*{broker}***cellar*0&{named}")
    controller.ask("/sim.cgi?DS1=21.5")
    wait_for("the boiler at 21.5", lambda: assistant.state("Boiler (DS1)") == "21.5")
    wait_for("the pump off", lambda: assistant.state("Pump (OUT0)") == "off")
    entities = assistant.report("states")
    (pump,) = (entity for entity, text in entities.items() if text.endswith("Pump (OUT0)"))
    controller.ask("/outs.cgi?out0=1")
    wait_for("the pump on", lambda: assistant.state("Pump (OUT0)") == "on")
    assistant.report(f"turn_off {pump}")
    wait_for("output 0 off", lambda: controller.output() == 0)
    controller.ask("/stm.cgi?mqttdiscovery=")
    wait_for("no pump without discovery", lambda: assistant.state("Pump (OUT0)") == "none")
    return len(entities)


def judge_fleet(node: Controller, assistant: Assistant, broker: int) -> int:
    """Switch each of three controllers both ways; return how many entities there were."""
    members = {}
    for name, (hw, sw) in VERSIONS.items():
        node.ask(f"/api/fleet/add?name={name}&hw={hw}&sw={sw}", "POST")
        members[name] = node.of(name)
        members[name].ask(f"/stm.cgi?mqtt=1*{HOST}*{broker}***{name}*0&oname=0{name}")
    for name, controller in members.items():
        shown = f"{name} (OUT0)"
        wait_for(f"{name} off", lambda shown=shown: assistant.state(shown) == "off")
        controller.ask("/outs.cgi?out0=1")
        wait_for(f"{name} on", lambda shown=shown: assistant.state(shown) == "on")
        assert [one for one, other in members.items() if other.output() == 1] == [name]
        entities = assistant.report("states")
        (entity,) = (one for one, text in entities.items() if text.endswith(shown))
        assistant.report(f"turn_off {entity}")
        wait_for(f"output 0 of {name} off", lambda one=controller: one.output() == 0)
    for controller in members.values():
        controller.ask("/stm.cgi?mqttdiscovery=")
    wait_for("nothing without discovery", lambda: assistant.state("(OUT0)") == "none")
    return len(entities)


def wait_for(what: str, look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not look():
        if time.monotonic() > deadline:
            raise SystemExit(f"This never came: {what}.")
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
