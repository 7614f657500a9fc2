"""A front that makes a twin look like a real unit: a proxy without anything of Leverframe's own.

Only what the interface document and public clients know passes: the status files with the keys
that clients read, and the commands of real units. Paths of ours answer 404. Commands of ours are
ignored with status 200, as firmware ignores what it does not know; `ignored` lists them.

`plain_front(twin)` serves it on a port, in threads, so that whole commands of the program can be
tried. What goes wrong is said by the test: `fate` for single requests, `reboot`, `unit` for a unit
that is swapped or has another version since, `delay_s`, `bodies` and `texts` for hostile answers.
`PlainView` is the same without a port.
"""

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from leverframe.core.engine.calls import MODBUS_WRITES, PULSES
from leverframe.core.profile import Profile
from leverframe.interface.status_files.settings_reader import keys_in
from leverframe.interface.table.lookup import OWN_ROWS, Call, find, items_of
from leverframe.interface.table.refusals import Refusal
from leverframe.testing import AnyTwin
from tests.units.unit_server import HOST, as_file

#: What becomes of a request: carried out and not answered; neither; or answered with a status.
Fate = Literal["lost", "dropped"] | int | None
OWN_LINES = frozenset(row.line for row in OWN_ROWS)
OWN_ACTIONS = frozenset((*MODBUS_WRITES, *PULSES))
COMMAND_PATHS = ("/stm.cgi", "/outs.cgi", "/inpa.cgi", "/eeprom.cgi", "/post.cgi")


def _write_out_keys(*names: str) -> set[str]:
    """Write out keys: `ds1-8` is `ds1` to `ds8`."""
    found = set()
    for name in names:
        first, _, last = name.rpartition("-")
        if first:
            stem = first.rstrip("0123456789")
            numbers = range(int(first.removeprefix(stem)), int(last) + 1)
            found |= {f"{stem}{number}" for number in numbers}
        else:
            found.add(name)
    return found


_IDENTITY = {"mac", "hw", "sw", "sname"}
_READINGS = _write_out_keys(
    *("vin", "tem", "diff1-6", "dthTemp", "dthHum", "bm280p", "bm680q", "dewPoint", "ds1-8"),
    *("out0-5", "outnn", "inpp1-6", "pwm", "pwmd0-3", "ind", "inpdnn", "inpd1tim", "inpd3tim"),
    *("power1-6", "energy1-6", "pm1", "pm2", "pm4", "pm10", "co2", "ozon", "distanceSensor"),
    *("barcode", "d0-8", "sdm1-14", "sdm", "modbusSensor", "modbusReadings", "modbusMapping"),
    *("customReadings", "eventVariables", "diffsel", "time"),
)
_UPTIME = {f"uptime{part}" for part in ("Seconds", "Minutes", "Hours", "Days")}
_FREQUENCIES = {"pwmf0", "pwmf1"}
_NAMES = _write_out_keys("oname0-5", "pname0-3", "iname0-5", "idname0-3", "pown0-5")
#: The keys that public clients read, by the file that they read them from.
KNOWN_KEYS: Mapping[str, set[str]] = {
    "/json/status.json": {
        *_IDENTITY,
        *_NAMES,
        *("restart", "tname", "pressureName"),
        *("pm1name", "pm25name", "pm4name", "pm10name", "co2name"),
    },
    "/json/status_per.json": _READINGS | _UPTIME,
    "/json/all.json": _READINGS | _IDENTITY,
    "/json/pwmpid.json": _FREQUENCIES | _write_out_keys("pwm", "pwmd0-3"),
    "/json/outputs.json": {"outnn"},
    "/json/inputs.json": {"inpdnn"},
    "/json/events_per.json": {"eventVariables"},
    "/json/dsi2c.json": {"dsid"},
    "/json/network.json": {"sname"},
    "/xml/ix.xml": _READINGS | _write_out_keys("sec0-4", "out", "inp1-6", "dth0-1", "pm25"),
    "/xml/stat.xml": _FREQUENCIES | _write_out_keys("hw", "sw", "sname", "ip4", "pwmd0-3"),
    "/xml/st.xml": {"auth", "upgr", "userpass"},
    "/xml/eve.xml": _write_out_keys("eve0-19"),
    "/xml/eve2.xml": _write_out_keys("ev0-19"),
    "/xml/sched.xml": _write_out_keys("sched0-49"),
    "/xml/co.xml": {"time"},
}
_NO_RESPONSE = b"<response>\n</response>\n"


def is_hidden(path: str) -> bool:
    """Return whether a real unit has nothing at a path."""
    return path not in KNOWN_KEYS and path not in (*COMMAND_PATHS, "/dev_settings.bin")


class PlainView(NamedTuple):
    """What of a twin a client of a real unit gets to see."""

    profile: Profile
    #: Show all keys of the status files, also those that no public client reads.
    is_rich: bool = False

    def split(self, method: str, target: str) -> tuple[str, list[str]]:
        """Return a request without commands of ours, and these."""
        path, mark, query = target.partition("?")
        if not mark or path not in COMMAND_PATHS:
            return target, []
        items = items_of(query)
        own = [item for item in items if self._is_own(method, path, item)]
        left = [item for item in items if item not in own]
        return (f"{path}?{'&'.join(left)}" if left else path), own

    def _is_own(self, method: str, path: str, item: str) -> bool:
        for call in find(method, path, [item], self.profile):
            if isinstance(call, Refusal):
                return False
            if call.row.line in OWN_LINES or _acts_as_ours(call):
                return True
        return False

    def file(self, path: str, body: bytes, texts: Mapping[str, Any]) -> bytes:
        """Return a status file with what is known of it, and with the texts of a test."""
        keys = keys_in(path, body)
        shown = (
            keys
            if self.is_rich
            else {name: value for name, value in keys.items() if name in KNOWN_KEYS[path]}
        )
        return as_file(path, shown | {name: text for name, text in texts.items() if name in shown})


def _acts_as_ours(call: Call) -> bool:
    return str(call.values.get("G", "")).partition("=")[0] in OWN_ACTIONS


class PlainFront:
    """The front of one unit, at a port of its own; attributes may change while it serves."""

    def __init__(self, unit: AnyTwin, *, rich: bool) -> None:
        #: The twin behind it. Another one is a unit that was swapped, or has another version now.
        self.unit = unit
        self.rich = rich
        #: Method and target of all requests, as they came.
        self.requests: list[str] = []
        #: Commands of ours that came although a real unit does not have them.
        self.ignored: list[str] = []
        #: Asked for every request, by its number from 1 and its target; it may also act.
        self.fate: Callable[[int, str], Fate] = lambda number, target: None
        #: Every answer waits for so long.
        self.delay_s = 0.0
        #: Path -> what is answered there instead.
        self.bodies: dict[str, bytes] = {}
        #: Key of a status file -> the text that it has instead.
        self.texts: dict[str, str] = {}
        #: The largest number of requests at the same time.
        self.most_requests = 0
        self._requests = 0
        self._down = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer((HOST, 0), _handler_of(self))
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}"

    @property
    def view(self) -> PlainView:
        return PlainView(self.unit.profile, self.rich)

    @property
    def commands(self) -> list[str]:
        """Return the targets of all commands that came."""
        targets = [request.partition(" ")[2] for request in self.requests]
        return [target for target in targets if ".cgi?" in target]

    def reboot(self, *, unanswered: int = 2) -> None:
        """Restart the unit: its uptime begins again, and the next requests get no answer."""
        self.unit.reboot("1s")
        self.unit.advance("2s")
        with self._lock:
            self._down = unanswered

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> "PlainAnswer | None":
        """Answer a request as a real unit does; None closes the connection."""
        with self._lock:
            self._requests += 1
            self.most_requests = max(self.most_requests, self._requests)
            self.requests.append(f"{method} {target}")
            number = len(self.requests)
        try:
            time.sleep(self.delay_s)
            fate = self.fate(number, target)
            with self._lock:
                is_down, self._down = self._down > 0, max(0, self._down - 1)
            if is_down or fate == "dropped":
                return None
            if isinstance(fate, int):
                return PlainAnswer(fate, "text/html", b"")
            answer = self._plain_answer(method, target, headers, body)
            return None if fate == "lost" else answer
        finally:
            with self._lock:
                self._requests -= 1

    def _plain_answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> "PlainAnswer":
        path = target.partition("?")[0]
        if path in self.bodies:
            kind = "application/json" if path.endswith(".json") else "text/xml"
            return PlainAnswer(200, kind, self.bodies[path])
        view = self.view
        if is_hidden(path):
            return PlainAnswer(404, "text/html", b"")
        sent, own = view.split(method, target)
        self.ignored += own
        if own and sent == path:
            return PlainAnswer(200, "text/xml", _NO_RESPONSE)
        answer = self._ask_unit(method, sent, headers, body)
        if answer.status == 200 and path in KNOWN_KEYS:
            return answer._replace(body=view.file(path, answer.body, self.texts))
        return answer if answer.status == 200 else answer._replace(body=b"", kind="text/html")

    def _ask_unit(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> "PlainAnswer":
        connection = http.client.HTTPConnection(urlsplit(self.unit.url).netloc, timeout=30)
        passed = ("authorization", "content-type")
        sent = {name: value for name, value in headers.items() if name.lower() in passed}
        try:
            connection.request(method, target, body if method == "POST" else None, sent)
            response = connection.getresponse()
            kind = response.getheader("content-type", "text/html")
            return PlainAnswer(response.status, kind, response.read())
        finally:
            connection.close()


class PlainAnswer(NamedTuple):
    status: int
    kind: str
    body: bytes


def _handler_of(front: PlainFront) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            answer = front.answer(self.command, self.path, dict(self.headers), body)
            self.close_connection = True
            if answer is None:
                return
            self.send_response_only(answer.status)
            self.send_header("Content-Type", answer.kind)
            if answer.status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="unit"')
            self.end_headers()
            try:
                self.wfile.write(answer.body)
            except OSError:
                # The client has had enough, as it may.
                return

        def log_message(self, *words: Any) -> None:
            """Write nothing to the output of the test."""

    return Handler


@contextmanager
def plain_front(unit: AnyTwin, *, rich: bool = False) -> Iterator[PlainFront]:
    """Serve a twin as a real unit; a rich one shows all keys that Leverframe guesses."""
    front = PlainFront(unit, rich=rich)
    front.start()
    try:
        yield front
    finally:
        front.stop()
