"""The context of every operation: the request, its parameters, and the node.

Parameters stand in the query, as everywhere in this program, or in a form in the body, which has
room for the names of thousands. `name` and `tag` choose controllers: those of these names that have
all of these tags, all controllers without either. `search`, `health`, `owner` and `version` narrow
the choice, as on the page. A tenant's account chooses among its own controllers: operations find
controllers only through this context.
"""

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any

from msgspec import Struct, field

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.refusals import Malformed
from leverframe.commands.table.rights import Account
from leverframe.commands.table.row import ADMIN
from leverframe.fleet.bulk import BY_FLEET
from leverframe.fleet.group_snapshots import GroupSnapshots
from leverframe.fleet.health_index import Health, HealthIndex, Wanted
from leverframe.fleet.jobs.jobs import FleetJobs, Requester
from leverframe.fleet.live import GroupTime
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.node_accounts import Asking, NodeAccounts
from leverframe.fleet.operations.parameters import (
    Name,
    Names,
    ShortText,
    Tags,
    Words,
)
from leverframe.fleet.progress import RequestsUnderWay, expect
from leverframe.fleet.records import Moved
from leverframe.fleet.templates import TemplateReader
from leverframe.fleet.tenants import TenantRecord
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.http.messages import Request
from leverframe.servers.routes.stream_shares import StreamShares

NAMES = QueryParameter("name", Names, "The names of controllers.")
TAGS = QueryParameter("tag", Tags, "Tags that they must all have.")
LOOKED_FOR = (
    QueryParameter(
        "search",
        Words,
        "Words that must all occur in their name, address, tags, version or findings.",
    ),
    QueryParameter("health", Health, "Their health."),
    QueryParameter("owner", Name, "The tenant that owns them."),
    QueryParameter("version", ShortText, "Hardware and software, such as `3.9/1.75`."),
)
CHOSEN = (NAMES, TAGS, *LOOKED_FOR)


class FleetContext(Struct, frozen=True):
    """A request to the API of a node, with its parameters by name."""

    request: Request
    asking: Asking
    given: dict[str, Any]
    node: FleetNode
    time: GroupTime
    snapshots: GroupSnapshots
    jobs: FleetJobs
    index: HealthIndex
    streams: StreamShares
    accounts: NodeAccounts
    passwords: Passwords
    under_way: RequestsUnderWay
    templates: TemplateReader
    #: Creates a password for administrators, and the settings that hold it.
    new_administrator: Callable[[], Coroutine[Any, Any, tuple[str | None, dict[str, Any]]]]
    #: The controllers that another node asks for; None if a user asks.
    numbers: frozenset[int] | None = None
    #: Nodes that have not answered; the reply names them.
    silent: set[str] = field(default_factory=set)
    #: Other nodes that have answered, and may not have their controllers any more.
    stale: set[str] = field(default_factory=set)

    def texts(self, name: str) -> list[str]:
        return [part for one in self.given.get(name, "").split(",") if (part := one.strip())]

    @property
    def account(self) -> Account:
        return self.asking.account

    @property
    def tenant(self) -> str | None:
        """The tenant whose controllers the requester may see; None for all."""
        return self.asking.tenant

    @property
    def own_record(self) -> TenantRecord | None:
        """The record of the requester's tenant; None for the operator."""
        return None if self.tenant is None else self.node.registry.tenants[self.tenant]

    @property
    def members(self) -> dict[str, Member]:
        return self.node.visible_to(self.tenant)

    def select(self, names: Sequence[str] = (), tags: Sequence[str] = ()) -> list[Member]:
        return self.node.select(names, tags, self.tenant)

    def _by_number(self, numbers: Collection[int]) -> list[Member]:
        return [member for member in self.members.values() if member.number in numbers]

    def not_running_of_names(self) -> dict[str, int]:
        """Return the numbers of failed controllers, if the request chooses by name only.

        All other criteria are known only of running controllers.
        """
        if self.texts("tag") or self.is_looked_for:
            return {}
        found, names = self.node.roster.numbers_of_failed(self.tenant), self.texts("name")
        return {name: found[name] for name in names if name in found}

    async def find_chosen(self) -> list[Member]:
        """Find the controllers of this node that the request chooses."""
        if self.numbers is None:
            members = self.select(self.texts("name"), self.texts("tag"))
        else:
            members = self._by_number(self.numbers)
        if self.is_looked_for:
            members = await self.index.find(self.read_search(), members)
        expect(len(members))
        return members

    @property
    def is_looked_for(self) -> bool:
        """Return whether the request searches, rather than choosing by name and tag alone."""
        return any(one.name in self.given for one in LOOKED_FOR)

    def read_search(self) -> Wanted:
        given = self.given
        return Wanted(
            given.get("search", ""),
            given.get("health"),
            tuple(self.texts("tag")),
            given.get("order", "worst"),
            self.tenant,
            given.get("owner"),
            given.get("version"),
        )

    @property
    def requester(self) -> Requester:
        return Requester(self.account, self.request.peer, self.tenant)

    @property
    def at_controllers(self) -> Account:
        """The requester as controllers see it: they have accounts of their own."""
        name, role = self.account.name, self.account.role
        return Account(name, role, joins_commands=role == ADMIN) if name else BY_FLEET

    def one(self) -> Member:
        if self.numbers is not None:
            here = self._by_number(self.numbers)
            if not here:
                name = self.given.get("name", "")
                if self.node.roster.knows(name):
                    raise self.node.roster.refusal_of(name, self.tenant)
                raise Moved(name)
            return here[0]
        (member,) = self.select([self.require("name", "the name of a controller")])
        return member

    def require(self, name: str, allowed: str) -> str:
        text: str = self.given.get(name, "")
        if not text:
            raise Malformed(f"{name} is missing.", field=name, allowed=allowed)
        return text

    def notify_pages(self) -> None:
        """Notify the watchers of the fleet immediately of changes that no controller reports."""
        for watcher in tuple(self.node.watchers):
            watcher()
