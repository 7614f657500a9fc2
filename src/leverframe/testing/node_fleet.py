"""The controllers of a node that runs elsewhere, asked by the network."""

import warnings
from collections.abc import Iterator
from datetime import tzinfo
from functools import cached_property
from typing import Self
from weakref import WeakSet

from leverframe.config import Config
from leverframe.fleet.node_client import NodeClient
from leverframe.fleet.operations.reports import MemberReport
from leverframe.process.api_client import ApiClient
from leverframe.testing.any_fleet import AnyFleet
from leverframe.testing.node_twin import NodeTwin
from leverframe.testing.twin_client import ANSWER_S


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
