"""One tenant at the limits of its permitted requests: the time of another tenant's switch.

A node in virtual time has two tenants. An administrator of the first tenant sends one kind of
request after another on several connections without a pause, each as large as permitted: commands,
templates, what-if, drift, time, lists, exports, roll-outs. At the same time, a controller of the
second tenant is switched. The figures are the longest switch, and the growth of the node's memory.
"""

import http.client
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from bench.figure import Figure, Reference, format_amount, need, progress
from bench.serving import HOST, LOAD_CORE, PATIENCE_S, Served, printing_its_address
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, is_confidential, leaves
from leverframe.fleet.operations.context import MAX_BYTES

GOAL_MS = 1000.0
GOAL_GROWTH_MB = 64.0
#: The default limit of controllers of a tenant.
CONTROLLERS = 100
CONNECTIONS = 8
#: The number of connections of a malicious client: most of those that one address may have.
MANY_CONNECTIONS = 600
PAUSE_S = 0.01
#: A refusal must come within this time.
REFUSED_WITHIN_S = 10.0
FORM = "application/x-www-form-urlencoded"
#: A meter whose pulses produce events while time is advanced.
METER = "/sim.cgi?plant=meter*switch:OUT0*reading:INPD1*watts:0*standby:500*pulses:1000"


class Account(NamedTuple):
    name: str
    password: str

    @property
    def header(self) -> str:
        return "Basic " + b64encode(f"{self.name}:{self.password}".encode()).decode()


class Client(NamedTuple):
    """A client of the node, or of one of its controllers."""

    node: Served
    host: str
    account: Account | None = None

    def request(self, method: str, target: str, body: bytes = b"", kind: str = "") -> bytes:
        """Return the bytes of a request."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self.host}"]
        lines += [f"Authorization: {self.account.header}"] if self.account else []
        lines += [f"Content-Type: {kind}"] if kind else []
        lines += [f"Content-Length: {len(body)}"] if method == "POST" else []
        return "\r\n".join([*lines, "", ""]).encode() + body

    def connection(self) -> http.client.HTTPConnection:
        port = int(self.node.address.rpartition(":")[2])
        return http.client.HTTPConnection(HOST, port, timeout=PATIENCE_S)

    def ask(
        self, connection: http.client.HTTPConnection, method: str, target: str
    ) -> dict[str, str | None]:
        headers = {"Host": self.host}
        if self.account is not None:
            headers["Authorization"] = self.account.header
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{target} was refused: {text.decode()}")
        is_json = "json" in answer.headers.get("Content-Type", "")
        return msgspec.json.decode(text) if is_json else {}

    def post(self, target: str) -> dict[str, str | None]:
        connection = self.connection()
        try:
            return self.ask(connection, "POST", target)
        finally:
            connection.close()


def measure(quick: bool) -> list[Figure]:
    need("taskset")
    for_s = 2.0 if quick else 10.0
    with tempfile.TemporaryDirectory() as folder, _node(folder) as node:
        count = 10 if quick else CONTROLLERS
        tenant, flooded, neighbour = _tenants(node, count)
        figures = []
        for what, request in _requests(tenant, flooded, count).items():
            progress()
            figures += _measure(neighbour, what, request, CONNECTIONS, for_s)
        for what in ("template", "export"):
            progress()
            many = f"{what}, {MANY_CONNECTIONS} connections"
            request = _requests(tenant, flooded, count)[what]
            figures += _measure(neighbour, many, request, MANY_CONNECTIONS, for_s)
        return figures


@contextmanager
def _node(folder: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "leverframe", "fleet", "run", "--port", "0", "--virtual-time"]
    with printing_its_address([*command, "--data", folder, "--no-discovery"]) as node:
        yield node


def _tenants(node: Served, count: int) -> tuple[Client, Client, Client]:
    """Create two tenants; return the first, one of its controllers, and one of the second's."""
    operator = Client(node, HOST)
    for name in ("acme", "zulu"):
        operator.post(f"/api/fleet/tenant/add?tenant={name}&max={count + 1}")
    made = operator.post("/api/fleet/account/add?name=chief&tenant=acme&role=administrator")
    tenant = Client(node, HOST, Account("chief", str(made["password"])))
    if made["administrator"] is not None:
        account = Account(str(made["administrator"]), str(made["administrator_password"]))
        operator = Client(node, HOST, account)
    added = tenant.post(f"/api/fleet/add?name={quote('gh-{n}')}&count={count}")
    flooded = _controller(node, "gh-1", added)
    neighbour = _controller(node, "z", operator.post("/api/fleet/add?name=z&tenant=zulu"))
    connection = flooded.connection()
    flooded.ask(connection, "GET", METER)
    connection.close()
    return tenant, flooded, neighbour


def _controller(node: Served, name: str, added: dict[str, str | None]) -> Client:
    password = added.get("password")
    account = None if password is None else Account("admin", password)
    return Client(node, f"{name}.localhost", account)


def _requests(tenant: Client, flooded: Client, count: int) -> dict[str, bytes]:
    """Return a request of each kind, as large as permitted."""
    switch = "&".join(["out0=1", "out0=0"] * 50)
    command = f"command={quote(f'outs.cgi?{switch}', safe='')}".encode()
    half = b",".join(b"gh-%d" % number for number in range(1, (count + 1) // 2 + 1))
    settings = _whole_settings()
    whole = msgspec.json.encode(settings)
    return {
        "send": tenant.request("POST", "/api/fleet/send", command, FORM),
        "send, all or none": tenant.request(
            "POST", "/api/fleet/send", command + b"&all_or_none=1&name=" + half, FORM
        ),
        "template": tenant.request("POST", "/api/fleet/add?dry_run=1&name=new", _as_toml(settings)),
        "drift": tenant.request("POST", "/api/fleet/drift", whole),
        "roll-out plan": tenant.request(
            "POST", "/api/fleet/rollout/plan?what=template&dry_run=1", whole
        ),
        "advance": tenant.request("POST", "/api/fleet/advance?for=366d"),
        "list": tenant.request("GET", "/api/fleet/list"),
        "export": tenant.request("GET", "/api/fleet/export"),
        "names": tenant.request(
            "POST", "/api/fleet/tag", b"add=x&name=" + b",".join([b"gh-1"] * 20_000), FORM
        ),
        "what-if": flooded.request("POST", "/api/what-if?for=7d", b"outs.cgi?out0=1"),
    }


def _whole_settings() -> dict[str, Any]:
    """Return a template that sets every setting of a controller."""
    profile = Profile()
    settings = {
        path: value
        for path, value in leaves(defaults(profile))
        if value is not None
        and not is_confidential(path)
        and not path.startswith(("profile.", "access."))
    }
    return {"hw": profile.hw, "sw": profile.sw, "settings": settings}


def _as_toml(template: dict[str, Any]) -> bytes:
    """Return a template of the maximum size, which consists mostly of comments."""
    lines = [b'hw = "%b"' % template["hw"].encode(), b'sw = "%b"' % template["sw"].encode()]
    encode = msgspec.json.encode
    entries = template["settings"].items()
    lines += [b"[settings]", *(b"%b = %b" % (encode(path), encode(one)) for path, one in entries)]
    text = b"\n".join(lines) + b"\n"
    comment = b"#" + b"x" * 98 + b"\n"
    return text + comment * ((MAX_BYTES - len(text)) // len(comment))


def _measure(
    neighbour: Client, what: str, request: bytes, connections: int, for_s: float
) -> list[Figure]:
    alone = _switches_ms(neighbour, min(for_s, 5.0))
    before = _memory_mb(neighbour.node)
    _require_answer(neighbour, what, request)
    with _flood(neighbour.node, request, connections):
        troubled = _switches_ms(neighbour, for_s)
    growth = _memory_mb(neighbour.node) - before
    longest, usual = max(troubled), statistics.median(troubled)
    usual_alone = statistics.median(alone)
    return [
        Figure(
            f"longest switch of one tenant beside another's flood of: {what}",
            longest,
            "ms",
            f"median {format_amount(usual, 'ms')}",
            Reference("alone", max(alone), "ms", more=f"median {format_amount(usual_alone, 'ms')}"),
            f"under {GOAL_MS:g} ms",
            longest < GOAL_MS,
            {"longest ms": sorted(troubled)[-5:]},
        ),
        Figure(
            f"memory that the node grew by in a tenant's flood of: {what}",
            growth,
            "MB",
            reference=Reference("before", before, "MB"),
            goal=f"under {GOAL_GROWTH_MB:g} MB",
            met=growth < GOAL_GROWTH_MB,
        ),
    ]


def _require_answer(client: Client, what: str, request: bytes) -> None:
    """Check that a request is not refused, because a flood of refusals would show nothing."""
    port = int(client.node.address.rpartition(":")[2])
    with socket.create_connection((HOST, port), REFUSED_WITHIN_S) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        try:
            answer.begin()
        except TimeoutError:
            # The request is still being processed.
            return
        if answer.status != 200:
            raise SystemExit(f"{what} was refused: {answer.read().decode()}")


def _switches_ms(client: Client, for_s: float) -> list[float]:
    """Switch a controller repeatedly for a time; return the duration of each switch."""
    connection, took, until = client.connection(), [], time.perf_counter() + for_s
    while time.perf_counter() < until:
        began = time.perf_counter()
        try:
            client.ask(connection, "GET", f"/outs.cgi?out0={len(took) % 2}")
        except TimeoutError:
            # The switch took at least as long as the timeout.
            connection.close()
            connection = client.connection()
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_S)
    connection.close()
    return took


def _memory_mb(node: Served) -> float:
    status = Path(f"/proc/{node.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


@contextmanager
def _flood(node: Served, request: bytes, connections: int) -> Iterator[None]:
    """Send a request on several connections, and repeat it as soon as it is answered."""
    host, _, port = node.address.removeprefix("http://").rpartition(":")
    with tempfile.NamedTemporaryFile() as file:
        file.write(request)
        file.flush()
        command = ["taskset", "-c", str(LOAD_CORE), sys.executable, "-m", "bench.flood"]
        flooding = subprocess.Popen(
            [*command, "requests", host, port, file.name, str(connections)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert flooding.stdout is not None
            if flooding.stdout.readline() != "flooding\n":
                raise SystemExit("the flood of requests did not begin")
            yield
        finally:
            os.killpg(flooding.pid, signal.SIGTERM)
            flooding.communicate(timeout=PATIENCE_S)
