"""The health of all controllers of a node, for searches among thousands.

While a page watches, controllers report changes, and their health is read again: immediately for
controllers in view, in batches for the others. Some time after the last page has left, all results
are discarded. Searching and paging read the latest state each time.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal

from msgspec import Struct

from leverframe.core.labels import LABELS
from leverframe.core.runtime.event_loop import in_turns
from leverframe.core.settings import Settings
from leverframe.fleet.finding_groups import FindingGroup, group_findings, key_of
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import is_seen
from leverframe.host.configuration.fields import MAX_NAME_LETTERS
from leverframe.host.controller.findings import FindingReport
from leverframe.interface.names import name_of

#: Number of changed controllers, besides those in view, whose health is read in one look.
ASKED_AGAIN = 250
#: How long results are kept without a watcher.
KEPT_S = 30.0

Health = Literal["fault", "attention", "off", "fine", "unknown"]
#: Ranks of a node's own controllers, worst first; their health is always known.
HEALTHS: tuple[Health, ...] = ("fault", "attention", "off", "fine")
Order = Literal["worst", "name"]

_DIGITS = re.compile(r"\d+")


class MemberHealth(Struct, frozen=True):
    """The data about a controller that searches need."""

    health: Health
    #: Findings, the worst first, each with the name that the user assigned to what it is about.
    findings: tuple[tuple[FindingReport, str | None], ...]
    #: Lower-case text that searches cover: name, address, tags, tenant, version and findings.
    words: str
    #: Counts all changes, so that equal numbers mean equal contents.
    revision: int

    @property
    def worst(self) -> FindingReport | None:
        return self.findings[0][0] if self.findings else None

    @property
    def about(self) -> str | None:
        """The subject of the worst finding, in the reader's words."""
        return self.findings[0][1] if self.findings else None


class Wanted(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which controllers a search covers, and their order.

    Defaults are omitted, so that nodes of older versions understand a search that uses only fields
    that they know.
    """

    search: str = ""
    health: Health | None = None
    tags: tuple[str, ...] = ()
    order: Order = "worst"
    #: The tenant whose controllers are searched; None searches all.
    tenant: str | None = None
    #: Restricts the search to controllers of this tenant, and of this version as `version_of`
    #: writes it; None for no restriction.
    owner: str | None = None
    version: str | None = None
    #: Only controllers with this finding, by the key of its group.
    finding: str | None = None

    def is_of(self, tenant: str, version: str, tags: Collection[str]) -> bool:
        """Return whether the record of a controller matches."""
        return (
            is_seen(self.tenant, tenant)
            and self.owner in (None, tenant)
            and self.version in (None, version)
            and set(self.tags).issubset(tags)
        )


def version_of(hw: str, sw: str) -> str:
    """Write a version in the form that searches use."""
    return f"{hw}/{sw}"


class HealthIndex:
    def __init__(self, node: FleetNode) -> None:
        self._node = node
        #: The health of controllers by number. `_changed` has the controllers whose health must be
        #: read again, oldest first.
        self._known: dict[int, MemberHealth] = {}
        self._changed: dict[int, None] = {}
        self._watchers: dict[int, tuple[Member, Callable[[], None], Callable[[bool], None]]] = {}
        #: The watchers, with the tenants that they watch.
        self._watching: dict[Callable[[], None], str | None] = {}
        self._revision = 0
        self._forgetting: asyncio.TimerHandle | None = None

    @contextmanager
    def watching(self, on_change: Callable[[], None], tenant: str | None = None) -> Iterator[None]:
        """Call `on_change` when a controller of a tenant changes, within this context."""
        self.watch(on_change, tenant)
        try:
            yield
        finally:
            self.unwatch(on_change)

    def watch(self, on_change: Callable[[], None], tenant: str | None = None) -> None:
        """Call `on_change` when a controller of a tenant changes, until `unwatch`."""
        self._keep()
        self._watching[on_change] = tenant
        self._node.watchers.add(on_change)

    def unwatch(self, on_change: Callable[[], None]) -> None:
        del self._watching[on_change]
        self._node.watchers.discard(on_change)
        if not self._watching:
            loop = asyncio.get_running_loop()
            self._forgetting = loop.call_later(KEPT_S, self._forget_all)

    def close(self) -> None:
        """Discard everything: the node ends, but its event loop may keep running."""
        self._keep()
        self._forget_all()

    def _keep(self) -> None:
        if self._forgetting is not None:
            self._forgetting.cancel()
            self._forgetting = None

    async def look(self, first: Iterable[int] = (), *, at_most: int | None = None) -> bool:
        """Read the health of changed controllers, `first` first; return whether any are left."""
        members = {member.number: member for member in self._node.members.values()}
        for number in self._known.keys() - members.keys():
            self._forget(number)
        wanted = [number for number in first if number in self._changed]
        new = [number for number in members if number not in self._known]
        wanted += new
        others = [number for number in self._changed if number in members]
        wanted += others if at_most is None else others[:at_most]
        async for number in in_turns(dict.fromkeys(wanted)):
            self._ask(members[number])
        return bool(self._changed)

    def of(self, member: Member) -> MemberHealth:
        return self._known.get(member.number) or self._ask(member)

    def matching(self, wanted: Wanted) -> list[Member]:
        """List the matching controllers, by the results of the last look."""
        words = wanted.search.lower().split()
        found = [
            member
            for member in self._node.members.values()
            if _is_of(wanted, member)
            and (known := self._known.get(member.number)) is not None
            and (wanted.health is None or known.health == wanted.health)
            and (wanted.finding is None or _has_finding(known, wanted.finding))
            and all(word in known.words for word in words)
        ]
        if wanted.order == "name":
            return sorted(found, key=lambda member: natural(member.name))
        return sorted(found, key=lambda member: HEALTHS.index(self._known[member.number].health))

    def counts(self, tenant: str | None = None) -> dict[Health, int]:
        found: dict[Health, int] = dict.fromkeys(HEALTHS, 0)
        for member in self._node.visible_to(tenant).values():
            if (known := self._known.get(member.number)) is not None:
                found[known.health] += 1
        return found

    def finding_groups(self, tenant: str | None = None) -> list[FindingGroup]:
        """Count the equal findings of the last look."""
        members = self._node.visible_to(tenant).values()
        known = (self._known.get(member.number) for member in members)
        return group_findings(one for health in known if health for one in health.findings)

    def changes(self, tenant: str | None = None) -> int:
        """Count changes by users; a different number means that there are new changes."""
        members = self._node.visible_to(tenant).values()
        return sum(member.controller.audit.entry_count for member in members)

    async def find(self, wanted: Wanted, among: Iterable[Member]) -> list[Member]:
        """Read the health of all controllers; return those in `among` that match the search."""
        # Each request needs a function of its own, which identifies it as a watcher: several
        # requests may look at the same time.
        with self.watching(lambda: None):
            self._changed.update(dict.fromkeys(self._known))
            await self.look()
            names = {member.name for member in self.matching(wanted)}
            return [member for member in among if member.name in names]

    def _ask(self, member: Member) -> MemberHealth:
        number, controller = member.number, member.controller
        self._changed.pop(number, None)
        if self._watching and number not in self._watchers:
            watcher = partial(self._note, number)
            power_watcher = partial(self._note_power, number)
            controller.watchers.add(watcher)
            controller.power_watchers.append(power_watcher)
            self._watchers[number] = member, watcher, power_watcher
        findings = controller.findings.report()
        worst = findings[0] if findings else None
        settings = controller.engine.settings
        self._revision += 1
        known = MemberHealth(
            "off" if not controller.has_power else worst.severity if worst else "fine",
            tuple((one, _name_in(one, settings)) for one in findings),
            _words_of(member, findings),
            self._revision,
        )
        if self._watching:
            self._known[number] = known
        return known

    def _note(self, number: int) -> None:
        if number not in self._changed:
            self._changed[number] = None
            member, _, _ = self._watchers[number]
            for on_change, tenant in self._watching.items():
                if is_seen(tenant, member.record.tenant):
                    on_change()

    def _note_power(self, number: int, on: bool) -> None:
        self._note(number)

    def _forget(self, number: int) -> None:
        self._known.pop(number, None)
        self._changed.pop(number, None)
        member, watcher, power_watcher = self._watchers.pop(number)
        member.controller.watchers.discard(watcher)
        member.controller.power_watchers.remove(power_watcher)

    def _forget_all(self) -> None:
        for number in tuple(self._watchers):
            self._forget(number)


def _has_finding(known: MemberHealth, key: str) -> bool:
    return any(key_of(finding) == key for finding, _ in known.findings)


def _name_in(finding: FindingReport, settings: Settings) -> str | None:
    """Return the user's name for the label, or the part with a label, that a finding is about."""
    label = finding.label or finding.figures.get("part")
    return name_of(label, settings) if isinstance(label, str) and label in LABELS else None


def _words_of(member: Member, findings: list[FindingReport]) -> str:
    record, profile = member.record, member.controller.profile
    parts = [
        *(record.name, record.address or "", profile.hw, profile.sw),
        *record.tags,
        record.tenant,
        *(finding.text for finding in findings),
    ]
    return "\n".join(parts).lower()


def _is_of(wanted: Wanted, member: Member) -> bool:
    record, profile = member.record, member.controller.profile
    return wanted.is_of(record.tenant, version_of(profile.hw, profile.sw), record.tags)


def natural(name: str) -> str:
    """Return a sort key that puts gh-2 before gh-10, fast enough for ten thousand names."""
    return _DIGITS.sub(_pad_number, name)


def _pad_number(number: re.Match[str]) -> str:
    return number[0].rjust(MAX_NAME_LETTERS, "0")
