"""HTTP compared with Node-RED: the same command as a flow of three nodes.

The flow keeps the output in its context and sends the same bytes as its answer. On the first run,
npm installs Node-RED into a folder of the user's cache. It runs without editor, telemetry and
checks for updates, and listens only on loopback.
"""

import contextlib
import json
import os
import subprocess
import tempfile
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.figure import Figure, Skipped, need, progress
from bench.serving import HOST, Served, controller, fetch, free_port, pin, wait_for
from bench.wrk import SWITCH, Case, Goal, Rounds, compare, load

#: The newest version that runs on Node.js 18 and 20.
PACKAGE = "node-red@4"
INSTALL_PATIENCE_S = 300
FLOW_PATIENCE_S = 30
CASES = (
    Case("switch six outputs in turn, 16 connections", 16, Goal(1.0), "switch_in_turn.lua"),
    Case("switch six outputs in turn, 64 connections", 64, Goal(1.0), "switch_in_turn.lua"),
)
SWITCHING = """
const asked = msg.req.query;
for (const name of Object.keys(asked)) {
  flow.set(name, Number(asked[name]));
}
msg.payload = REPLY;
msg.headers = {"Content-Type": "text/xml"};
return msg;
"""


def cache_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "leverframe-bench", "node-red")


def install() -> Path:
    """Return the path of the program; install it if it is missing."""
    folder = cache_folder()
    program = folder / "node_modules" / "node-red" / "red.js"
    if not program.exists():
        progress(" (fetching Node-RED)")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
        try:
            subprocess.run(
                [*command, "--prefix", str(folder)],
                capture_output=True,
                check=True,
                timeout=INSTALL_PATIENCE_S,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            raise Skipped(f"npm could not install {PACKAGE}") from None
    return program


def flow_nodes(path: str, code: str, reply: str) -> list[dict[str, Any]]:
    name = path.rpartition("/")[2]
    ids = [f"{name}-{part}" for part in ("in", "function", "out")]
    place = {"z": "bench"}
    function = code.replace("REPLY", json.dumps(reply))
    return [
        {"id": ids[0], "type": "http in", "url": path, "method": "get", "wires": [[ids[1]]]}
        | place,
        {"id": ids[1], "type": "function", "func": function, "outputs": 1, "wires": [[ids[2]]]}
        | place,
        {"id": ids[2], "type": "http response", "wires": []} | place,
    ]


@contextmanager
def node_red(folder: Path, switched: str) -> Iterator[Served]:
    """Run a Node-RED that sends the same answers as the controller."""
    program, port = install(), free_port()
    settings = {
        "uiHost": HOST,
        "uiPort": port,
        "flowFile": "flows.json",
        "httpAdminRoot": False,
        "telemetry": {"enabled": False, "updateNotification": False},
        "externalModules": {"autoInstall": False, "palette": {"allowInstall": False}},
        "logging": {"console": {"level": "off", "metrics": False, "audit": False}},
    }
    nodes = [{"id": "bench", "type": "tab", "label": "bench"}]
    nodes += flow_nodes(SWITCH.partition("?")[0], SWITCHING, switched)
    (folder / "settings.js").write_text(f"module.exports = {json.dumps(settings)};\n")
    (folder / "flows.json").write_text(json.dumps(nodes))
    command = ["node", str(program), "--userDir", str(folder)]
    environment = {**os.environ, "NODE_ENV": "production"}
    with pin([*command, "--settings", str(folder / "settings.js")], environment) as program:
        wait_for(port)
        yield Served(f"http://{HOST}:{port}", program.pid)


def wait_for_flow(address: str, target: str, wanted: str) -> None:
    """Wait until the flows are loaded: before that, Node-RED already listens, but answers 404."""
    until = time.monotonic() + FLOW_PATIENCE_S
    while time.monotonic() < until:
        with contextlib.suppress(urllib.error.HTTPError):
            assert fetch(address, target).decode() == wanted, "Node-RED answers something else"
            return
        time.sleep(0.1)
    raise Skipped("the flow of Node-RED failed to start")


def measure(quick: bool) -> list[Figure]:
    need("wrk", "taskset", "node", "npm")
    rounds = Rounds.of(quick)
    with tempfile.TemporaryDirectory() as name, controller(Path(name, "data")) as ours:
        switched = fetch(ours.address, SWITCH).decode()
        with node_red(Path(name), switched) as other:
            wait_for_flow(other.address, SWITCH, switched)
            return [
                compare(
                    case,
                    rounds,
                    partial(load, ours, case, rounds.seconds),
                    partial(load, other, case, rounds.seconds),
                    "Node-RED",
                )
                for case in CASES
            ]
