"""Twins that share one time and are the controllers of one node in this process or elsewhere."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Self, overload

from leverframe.core.durations import Duration, WhenText, seconds_of, wall_of
from leverframe.core.errors import ErrorForPeople
from leverframe.fleet.bulk import BulkReport
from leverframe.fleet.client import NodeAnswer, NodeAsking
from leverframe.fleet.groups import advance_together, bring_together, journal_digest, next_step_s
from leverframe.fleet.member import Member
from leverframe.fleet.operation import Operation
from leverframe.fleet.operations.nodes import MadeReport, MemberReport
from leverframe.host.controller import Controller
from leverframe.interface.table.versions import version_parameters, versions_from
from leverframe.server.http.messages import Reply, Request
from leverframe.testing.any_fleet import AnyFleet, Tags
from leverframe.testing.in_process import BY_TEST
from leverframe.testing.member_twin import MemberTwin, TwinNode
from leverframe.testing.misuse import BadCall, check_names
from leverframe.testing.node_fleet import NodeFleet
from leverframe.testing.transport import LOOP_THREAD, TwinSnapshot
from leverframe.testing.twin import Twin


class BadFleet(ErrorForPeople, ValueError):
    """A fleet cannot be created or used in this way; the message says why in one sentence."""


class Fleet(AnyFleet[Twin], Sequence[Twin]):
    """Several twins whose time advances together; the given versions are assigned to them in turn.

    Example: `Fleet(10, versions=["3.0/1.58a", "3.5/1.49"])`; further parameters are those of `Twin`
    and apply to all. With a `seed`, each twin gets its own seed derived from it. The twins are
    controllers of one node: `fleet[0]` is `fleet["twin-1"]`, and a controller that is added later
    starts like any new controller of a node. Twins with their own ports (if all have TLS, a name or
    a recording) can only be sent commands and advanced in time.
    """

    def __init__(
        self,
        count: int,
        versions: Sequence[str] = (),
        *,
        seed: int | None = None,
        **parameters: Any,
    ) -> None:
        if isinstance(count, bool) or not isinstance(count, int):
            raise BadFleet(f"The number of twins must be a whole number, not {count!r}.")
        if not isinstance(versions, Sequence):
            raise BadFleet(
                f'versions must be strings such as ["3.0/1.58a", "3.5"], not {versions!r}.'
            )
        check_names(Twin, "Fleet", parameters)
        if count < 1:
            raise BadFleet(f"A fleet has at least one twin, not {count}.")
        if isinstance(versions, str):
            versions = versions_from(versions)
        asked = [version_parameters(version) for version in versions] or [{}]
        self._node = node = TwinNode()
        super().__init__(TwinNodeClient(node, self._members))
        self._of_node = {
            key: value for key, value in parameters.items() if key in ("timezone", "lenient")
        }
        self._twins = [
            MemberTwin(
                node,
                **{**parameters, **asked[number % len(asked)]},
                seed=None if seed is None else seed + number,
            )
            for number in range(count)
        ]

    @staticmethod
    def connect(
        url: str, user: str | None = None, password: str = "", *, ca_file: str | None = None
    ) -> NodeFleet:
        """Return the fleet of a running node: `connect("http://127.0.0.1:8080")`.

        `user` and `password` are those of an account of the node; `ca_file` is the certificate to
        trust.
        """
        return NodeFleet(url, user, password, ca_file)

    def start(self) -> Self:
        """Switch all twins on; if a twin fails to start, close the others again."""
        try:
            for twin in self._twins:
                twin.start()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Switch all twins off."""
        for twin in self._twins:
            twin.close()
        LOOP_THREAD.run(self._node.close())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self.close)

    @overload
    def __getitem__(self, place: int | str) -> Twin: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Twin]: ...
    def __getitem__(self, place: int | str | slice) -> Twin | Sequence[Twin]:
        return self._find_twin(place) if isinstance(place, str) else self._twins[place]

    def __len__(self) -> int:
        return len(self._twins)

    def __iter__(self) -> Iterator[Twin]:
        return iter(self._twins)

    @property
    def url(self) -> str:
        self._members()
        return self._node.url

    @property
    def now(self) -> datetime:
        return self._twins[0].now

    def _find_twin(self, name: str) -> MemberTwin:
        for twin, member in zip(self._twins, self._members(), strict=True):
            if member.name == name:
                return twin
        raise KeyError(name)

    def _twin_of(self, report: MemberReport) -> MemberTwin:
        try:
            return self._find_twin(report.name)
        except KeyError:
            # Another client has created this controller at the node.
            return self._join(report.name)

    # --- creation and places ----------------------------------------------------------------------

    def _make(
        self,
        operation: Operation[MadeReport],
        parameters: dict[str, Any],
        body: bytes | None = None,
    ) -> MadeReport:
        """Create controllers that become twins of this fleet, each with its own address."""
        if parameters.get("address") is None:
            parameters = {
                **parameters,
                "address": self._node.reserve_addresses(parameters["count"]),
            }
        made = super()._make(operation, parameters, body)
        if not made.dry_run:
            for name in made.names:
                self._join(name)
        return made

    def _join(self, name: str) -> MemberTwin:
        """Add a controller of the node to the twins."""
        member = self._node.member(name)
        profile = member.controller.profile
        twin = MemberTwin(self._node, hw=profile.hw, sw=profile.sw, **self._of_node)
        self._twins.append(twin.take(member))
        return twin

    def remove(self, *names: str, tag: Tags = ()) -> BulkReport:
        report = super().remove(*names, tag=tag)
        left = [twin for twin in self._twins if twin.member is None or twin.member.has_left]
        self._twins = [twin for twin in self._twins if twin not in left]
        for twin in left:
            twin.close()
        return report

    def rename(self, name: str, to: str) -> MemberReport:
        report = super().rename(name, to)
        self._twin_of(report).find_place()
        return report

    def place(
        self, name: str, *, address: str | None = None, port: int | None = None
    ) -> MemberReport:
        report = super().place(name, address=address, port=port)
        self._twin_of(report).find_place()
        return report

    # --- together ---------------------------------------------------------------------------------

    def command(self, *commands: str) -> None:
        """Carry out commands on every twin."""
        for twin in self._twins:
            twin.command(*commands)

    @overload
    def snapshot(self) -> list[TwinSnapshot]: ...
    @overload
    def snapshot(self, label: str, *names: str, tag: Tags = ()) -> BulkReport: ...
    def snapshot(
        self, label: str | None = None, *names: str, tag: Tags = ()
    ) -> list[TwinSnapshot] | BulkReport:
        """Return a snapshot of every twin.

        With a label, the node instead takes and keeps one snapshot of the selected twins.
        """
        if label is not None:
            return super().snapshot(label, *names, tag=tag)
        return [twin.snapshot() for twin in self._twins]

    @overload
    def restore(self, label: Sequence[TwinSnapshot]) -> None: ...
    @overload
    def restore(self, label: str, *names: str, tag: Tags = ()) -> BulkReport: ...
    def restore(
        self, label: str | Sequence[TwinSnapshot], *names: str, tag: Tags = ()
    ) -> BulkReport | None:
        """Restore every twin from its snapshot, or selected twins from a snapshot of the node."""
        if isinstance(label, str):
            return super().restore(label, *names, tag=tag)
        snapshots: Any = label
        if not isinstance(snapshots, Sequence) or len(snapshots) != len(self._twins):
            raise BadCall(
                "restore of a fleet takes the label of a snapshot that its node keeps, or the list"
                f" that snapshot() returned, with {len(self._twins)} snapshots."
            )
        for twin, snapshot in zip(self._twins, snapshots, strict=True):
            twin.restore(snapshot)
        self._were_moved()
        return None

    @property
    def journal_digest(self) -> str:
        """A digest of all journals: equal runs have equal digests."""
        return journal_digest([twin.controller for twin in self._twins])

    def reset(self) -> None:
        """Restore the initial state of every twin."""
        for twin in self._twins:
            twin.reset()
        self._were_moved()

    def _were_moved(self) -> None:
        LOOP_THREAD.run(self._node.set_time(self.now.timestamp()))
        self.clock.was_moved()

    def _members(self) -> list[Member]:
        members = [twin.member for twin in self._twins if twin.member is not None]
        if len(members) < len(self._twins):
            raise BadFleet("The twins are off, or have ports of their own; use `command` instead.")
        return members

    # --- time -------------------------------------------------------------------------------------

    def advance(self, duration: Duration, *names: str, tag: Tags = ()) -> None:
        """Let time pass; due events of all twins happen in chronological order."""
        if self._are_alone:
            LOOP_THREAD.run(advance_together(self._controllers(), seconds_of(duration)))
            self.clock.was_moved()
        else:
            super().advance(duration, *names, tag=tag)

    def advance_to(self, moment: WhenText, *names: str, tag: Tags = ()) -> None:
        if self._are_alone:
            wall = wall_of(moment, self._twins[0].zone)
            LOOP_THREAD.run(bring_together(self._controllers(), wall))
            self.clock.was_moved()
        else:
            super().advance_to(moment, *names, tag=tag)

    def step(self, *names: str, tag: Tags = ()) -> float:
        if not self._are_alone:
            return super().step(*names, tag=tag)
        seconds = next_step_s(self._controllers())
        if seconds is not None:
            self.advance(seconds)
        return seconds or 0.0

    @property
    def _are_alone(self) -> bool:
        """Whether the twins have their own ports instead of a common node."""
        return all(twin.member is None for twin in self._twins)

    def _controllers(self) -> list[Controller]:
        return [twin.controller for twin in self._twins]


class TwinNodeClient(NodeAsking):
    """Sends requests to the node of a fleet of twins without using its port."""

    def __init__(self, node: TwinNode, check: Callable[[], object]) -> None:
        super().__init__("The node of the twins")
        self._node = node
        #: Raises an error that says why the node cannot be reached.
        self._check = check

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> NodeAnswer:
        self._check()
        path, mark, query = target.partition("?")
        named = {name.lower(): value for name, value in headers.items()}
        request = Request(method, path, query if mark else None, named, body or b"", BY_TEST)
        reply = LOOP_THREAD.run(self._node.answer(request))
        assert isinstance(reply, Reply)
        return NodeAnswer(reply.status, reply.body)
