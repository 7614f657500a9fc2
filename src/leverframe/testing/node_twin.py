"""A controller of a node that runs elsewhere, as a twin: asked for by its name at the node's door.

It is not the test's: it was there before, and stays. Its time can be moved, and faults and
snapshots be had, where the node runs on virtual time and its board is simulated.
"""

from datetime import tzinfo
from random import SystemRandom
from typing import TYPE_CHECKING, Self
from weakref import ref

from leverframe.process.api_client import ApiClient
from leverframe.profile import Profile
from leverframe.testing.any_twin import STARTED_TWINS, AnyTwin
from leverframe.testing.seeds import new_seed
from leverframe.testing.twin_client import HttpTransport

if TYPE_CHECKING:
    from leverframe.fleet.operations.reports import MemberReport


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
