"""A controller of a node that runs elsewhere, as a twin: asked for by its name at the node's door.

It is not the test's: it was there before, and stays. Its time can be moved, and faults and
snapshots be had, where the node runs on virtual time and its board is simulated.
"""

from datetime import tzinfo
from random import SystemRandom
from typing import Self
from urllib.parse import urlsplit

import httpx

from leverframe.fleet.operations.reports import MemberReport
from leverframe.profile import Profile
from leverframe.servers.http.request_journal import BENCH_HEADER
from leverframe.testing.any_twin import STARTED_TWINS, TwinAddress
from leverframe.testing.http_twin import HttpTwin, reached
from leverframe.testing.seeds import new_seed
from leverframe.testing.twin_client import checked


class NodeTwin(HttpTwin):
    """A controller of a running node, by its name; `Fleet.connect` gives them.

    With `with`, or `start` and `close`, `reset` goes back to that start, and the snapshots that
    were taken are forgotten at the end. All else can be done without.
    """

    def __init__(
        self,
        report: MemberReport,
        door: str,
        client: httpx.Client,
        zone: tzinfo,
        account: tuple[str, str] | None,
        ca_file: str | None,
    ) -> None:
        super().__init__()
        self.url = report.url.rstrip("/")
        self.door = door
        self.zone = zone
        self.account = account
        self.ca_file = ca_file
        self.seed = new_seed()
        self._report = report
        self._client = client
        self._first: str | None = None
        self._taken: list[str] = []

    ends_with_test = False

    @property
    def name(self) -> str:
        """What it is called at the node."""
        return self._report.name

    @property
    def recipe(self) -> str:
        """The same controller, with the seed of its faults; what it was before is its node's."""
        return f"twin = Fleet.connect({self.door!r})[{self.name!r}]; twin.seed = {self.seed}"

    @property
    def is_on(self) -> bool:
        return not self._client.is_closed

    @property
    def profile(self) -> Profile:
        return Profile(self._report.hw, self._report.sw)

    def start(self) -> Self:
        """Note where it is, for `reset`; it runs already."""
        if self._first is None:
            self._first = self.snapshot().state
        return self

    def close(self) -> None:
        """Forget the snapshots that were taken; it runs on."""
        taken, self._taken, self._first = self._taken, [], None
        if taken and self.is_on:
            self._operate(
                "/api/sim/snapshots?" + "&".join(f"delete={one}" for one in taken), "POST"
            )

    def _new_label(self) -> str:
        # Others may have snapshots there, too.
        label = f"kit-{SystemRandom().getrandbits(64):016x}"
        self._taken.append(label)
        return label

    @property
    def _first_label(self) -> str:
        if self._first is None:
            raise RuntimeError("There is no start to go back to; begin with `with`, or start().")
        return self._first

    @property
    def modbus(self) -> TwinAddress:
        return self._port("modbus", "Modbus TCP", "stm.cgi?modbuson=1")

    @property
    def snmp(self) -> TwinAddress:
        return self._port("snmp", "SNMP", "stm.cgi?snmp=1*public*private")

    def _port(self, key: str, what: str, command: str) -> TwinAddress:
        port = self.state["ports"].get(key)
        if port is None or self._report.address is None:
            raise RuntimeError(
                f"{what} is off; it needs an address of its own, and {command!r} switches it on."
            )
        return TwinAddress(self._report.address, port)

    def _operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        # Also without a start: it runs already.
        STARTED_TWINS.add(self)
        # The node resets connections to one that is off; what only reads may be asked again.
        is_reading = method == "GET" and target.startswith("/api/")
        reply = reached(
            lambda: self._client.request(
                method,
                f"{self.door}{target}",
                content=body or None,
                auth=self.account,
                headers={"Host": urlsplit(self.url).netloc, BENCH_HEADER: "1"},
            ),
            lambda error: is_reading and not isinstance(error, httpx.ConnectError),
        )
        return checked(reply.status_code, reply.content, target)
