"""The controllers of a node that runs elsewhere, reached over the network."""

import warnings
from collections.abc import Iterator
from datetime import tzinfo
from functools import cached_property
from random import SystemRandom
from typing import TYPE_CHECKING, Self
from weakref import WeakSet, ref

from leverframe.core.profile import Profile
from leverframe.fleet.client import NodeClient
from leverframe.fleet.operations.nodes import MemberReport
from leverframe.host.api_client import ApiClient
from leverframe.host.configuration import Config
from leverframe.testing.any_fleet import AnyFleet
from leverframe.testing.any_twin import STARTED_TWINS, AnyTwin
from leverframe.testing.seeds import new_seed
from leverframe.testing.twin_client import ANSWER_S, HttpTransport

if TYPE_CHECKING:
    from leverframe.fleet.operations.nodes import MemberReport


# A controller of a node that runs elsewhere, as a twin that is addressed by its name at the node.
#
# The test does not own the controller, which exists before and after the test. If the node runs in
# virtual time and the board is simulated, its time can be advanced, and faults and snapshots are
# available.


class NodeTwin(AnyTwin):
    """A controller of a running node; `Fleet.connect` gives access to all of them.

    Between `start` and `close`, or in a `with` block, `reset` restores the state at the beginning;
    the snapshots of the test are removed at the end. All other methods work without `start`.
    """

    ends_with_test = False
    _transport: "AtNode"

    def __init__(
        self,
        report: "MemberReport",
        door: str,
        client: ApiClient,
        zone: tzinfo,
        account: tuple[str, str] | None,
        ca_file: str | None,
    ) -> None:
        super().__init__()
        self.zone = zone
        self.seed = new_seed()
        self._transport = AtNode(self, report, door, client, account, ca_file)

    @property
    def name(self) -> str:
        """Its name at the node."""
        return self._transport.report.name

    @property
    def recipe(self) -> str:
        """The code for the same controller with the same seed; it does not restore its state."""
        return f"twin = Fleet.connect({self.door!r})[{self.name!r}]; twin.seed = {self.seed}"

    def start(self) -> Self:
        """Record its present state for `reset`; it is already running."""
        return super().start()

    def close(self) -> None:
        """Remove the snapshots of the test; the controller keeps running."""
        super().close()

    def reset(self) -> None:
        """Restore the state at `start`; forget the requests and messages since then.

        Uploads, sessions, the history and the audit trail are kept.
        """
        super().reset()


class AtNode(HttpTransport):
    """A controller of a node; requests go to the node and contain the controller's name."""

    closed = "{what} is off; it needs an address of its own, and {command!r} switches it on."

    def __init__(
        self,
        twin: AnyTwin,
        report: "MemberReport",
        door: str,
        client: ApiClient,
        account: tuple[str, str] | None,
        ca_file: str | None,
    ) -> None:
        self._twin = ref(twin)
        self.report = report
        self.url = report.url.rstrip("/")
        self.host = report.address
        self.door, self.client, self.account, self.ca_file = door, client, account, ca_file
        self._taken: list[str] = []

    @property
    def profile(self) -> Profile:
        return Profile(self.report.hw, self.report.sw)

    def start(self) -> None:
        """Take the snapshot for `reset`; the controller is already running."""
        if self.first is None:
            self.first = self.snapshot().state

    def close(self) -> None:
        """Remove the snapshots of the test; the controller keeps running."""
        taken, self._taken, self.first = self._taken, [], None
        if taken and self.is_on:
            self.operate("/api/sim/snapshots?" + "&".join(f"delete={one}" for one in taken), "POST")

    def new_label(self) -> str:
        # Other clients may have snapshots there, so use a random label.
        label = f"kit-{SystemRandom().getrandbits(64):016x}"
        self._taken.append(label)
        return label

    def operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        # The twin can be used even without a start, because it is already running.
        if (twin := self._twin()) is not None:
            STARTED_TWINS.add(twin)
        return super().operate(target, method, body)

    def may_repeat(self, target: str, method: str, error: Exception) -> bool:
        # The node resets connections to a controller that is off; only reads may be repeated.
        is_reading = method == "GET" and target.startswith("/api/")
        was_reached = isinstance(error, ConnectionResetError) or not isinstance(error, OSError)
        return is_reading and was_reached


class NodeFleet(AnyFleet[NodeTwin]):
    """The controllers of a running node: `with Fleet.connect("http://127.0.0.1:8080") as fleet`.

    `fleet["gh-1"]` is a controller as a twin, and `for twin in fleet` visits all of them. Closing
    the connection does not change them.
    """

    def __init__(
        self,
        url: str,
        user: str | None = None,
        password: str = "",
        ca_file: str | None = None,
    ) -> None:
        account = None if user is None else (user, password)
        self._client = NodeClient(
            url, account, ca_file, _warn_of_silent, when_starting=lambda counted: None
        )
        super().__init__(self._client)
        self._ca_file = ca_file
        #: Twins that were returned and are still in use.
        self._given_out: WeakSet[NodeTwin] = WeakSet()
        #: Name and password at the controllers themselves, for controllers that require a login.
        self.account: tuple[str, str] | None = None

    def close(self) -> None:
        """Close the connections; the node and its controllers keep running."""
        for twin in self._given_out:
            twin._keep_report()
        self._client.close()
        self._to_twins.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getitem__(self, name: str) -> NodeTwin:
        return self.find(name)[0]

    def __len__(self) -> int:
        return self.overview().controllers

    def __iter__(self) -> Iterator[NodeTwin]:
        return iter(self.find())

    def _twin_of(self, report: MemberReport) -> NodeTwin:
        twin = NodeTwin(report, self.url, self._to_twins, self._zone, self.account, self._ca_file)
        self._given_out.add(twin)
        return twin

    @cached_property
    def _to_twins(self) -> ApiClient:
        return ApiClient(self.url, self._ca_file, ANSWER_S)

    @cached_property
    def _zone(self) -> tzinfo:
        return Config(timezone=self.overview().timezone).zone()


def _warn_of_silent(nodes: str) -> None:
    warnings.warn(f"Incomplete result, no answer from: {nodes}", stacklevel=5)
