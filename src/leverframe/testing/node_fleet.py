"""The controllers of a node that runs elsewhere, asked by the network."""

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


# A controller of a node that runs elsewhere, as a twin: asked for by its name at the node's door.
#
# It is not the test's: it was there before, and stays. Its time can be moved, and faults and
# snapshots be had, where the node runs in virtual time and its board is simulated.


class NodeTwin(AnyTwin):
    """A controller of a running node, by its name; `Fleet.connect` gives them.

    With `with`, or `start` and `close`, `reset` goes back to that start, and the snapshots that
    were taken are forgotten at the end. All else can be done without.
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
        """What it is called at the node."""
        return self._transport.report.name

    @property
    def recipe(self) -> str:
        """The same controller, with the seed of its faults; what it was before is its node's."""
        return f"twin = Fleet.connect({self.door!r})[{self.name!r}]; twin.seed = {self.seed}"

    def start(self) -> Self:
        """Note where it is, for `reset`; it runs already."""
        return super().start()

    def close(self) -> None:
        """Forget the snapshots that were taken; it runs on."""
        super().close()

    def reset(self) -> None:
        """Resume from the start; what was requested and sent is forgotten.

        Uploads, sessions, the history and the audit trail stay.
        """
        super().reset()


class AtNode(HttpTransport):
    """A controller that a node has; requests go to the door of the node, and name it."""

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
        """Take the snapshot for `reset`; it runs already."""
        if self.first is None:
            self.first = self.snapshot().state

    def close(self) -> None:
        """Forget the snapshots that were taken; it runs on."""
        taken, self._taken, self.first = self._taken, [], None
        if taken and self.is_on:
            self.operate("/api/sim/snapshots?" + "&".join(f"delete={one}" for one in taken), "POST")

    def new_label(self) -> str:
        # Others may have snapshots there, too.
        label = f"kit-{SystemRandom().getrandbits(64):016x}"
        self._taken.append(label)
        return label

    def operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        # Also without a start: it runs already.
        if (twin := self._twin()) is not None:
            STARTED_TWINS.add(twin)
        return super().operate(target, method, body)

    def may_repeat(self, target: str, method: str, error: Exception) -> bool:
        # The node resets connections to one that is off; what only reads may be asked again.
        is_reading = method == "GET" and target.startswith("/api/")
        was_reached = isinstance(error, ConnectionResetError) or not isinstance(error, OSError)
        return is_reading and was_reached


class NodeFleet(AnyFleet[NodeTwin]):
    """The controllers of a running node: `with Fleet.connect("http://127.0.0.1:8080") as fleet`.

    `fleet["gh-1"]` is one of them as a twin, `for twin in fleet` goes through all. They stay as
    they are when the connection is closed.
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
        #: Twins that were given out, and are still in use.
        self._given_out: WeakSet[NodeTwin] = WeakSet()
        #: Name and password at the controllers themselves, for those that ask who is there.
        self.account: tuple[str, str] | None = None

    def close(self) -> None:
        """Close the connections; the node and its controllers run on."""
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
    warnings.warn(f"Nodes that do not answer have no part in this: {nodes}", stacklevel=5)
