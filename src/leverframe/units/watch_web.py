"""The small HTTP server of `unit watch`: metrics, states, history, and the page of the units.

Requests that change nothing are GET; polling and reading are POST, which no page of another site
can send. Beyond loopback all users sign in with HTTP Basic, with the same waits after wrong
passwords as at a controller.
"""

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from msgspec.structs import replace

from leverframe import __version__
from leverframe.clock import Clock
from leverframe.commands.describe.media_types import JSON
from leverframe.commands.describe.openapi import EndpointDescription
from leverframe.commands.table.refusals import NotAllowed, Refusal, SignInRequired
from leverframe.commands.table.rights import ANONYMOUS, UNRESTRICTED, Account
from leverframe.commands.table.row import ADMIN, ANYBODY
from leverframe.errors import ErrorForPeople
from leverframe.servers.accounts.access import Access
from leverframe.servers.accounts.cross_site import OwnNames
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.accounts.sessions import Accounts
from leverframe.servers.http.messages import NOT_KEPT, Answer, Reply, Request
from leverframe.servers.problems import NoSuchPath
from leverframe.servers.routes.dispatcher import Dispatcher, wrong_method
from leverframe.servers.routes.history import USUAL_POINTS, HistoryUnreadable, span_of
from leverframe.servers.routes.metrics import METRICS, process_families
from leverframe.servers.routes.pages import PREFIX, page_reply, pages
from leverframe.storage.history.reading import answer_pieces
from leverframe.storage.history.worker import HistoryRecorder
from leverframe.storage.store import StoreUnavailable
from leverframe.units.drift import DriftedSetting
from leverframe.units.unit_health import UnitHealth, worst_first
from leverframe.units.watch_changes import ChangeProgress, ShownPlan, UnitChanges
from leverframe.units.watch_metrics import unit_families
from leverframe.units.watcher import UnitWatcher
from leverframe.wire.prometheus import Family, prometheus_text

PAGE = f"{PREFIX}units.html"


class NoSuchUnit(Refusal):
    status = 404
    title = "Unknown unit"


class NotDone(Refusal):
    status = 409
    title = "The request failed"


class WatchEndpoint(EndpointDescription, frozen=True, kw_only=True):
    function: Callable[["WatchWeb", Request], Any]


class WatchWeb(Dispatcher[WatchEndpoint, Account]):
    """The handler of all requests; without `accounts` only for users of this machine."""

    headers = (NOT_KEPT,)

    def __init__(
        self,
        watcher: UnitWatcher,
        history: HistoryRecorder,
        clock: Clock,
        names: OwnNames,
        changes: UnitChanges,
        accounts: Accounts | None = None,
        figures: Callable[[], Iterable[Family]] = tuple,
    ) -> None:
        self.table = _TABLE
        self._watcher = watcher
        self._history = history
        self._clock = clock
        self._names = names
        self._unit_changes = changes
        self._accounts = accounts
        self._figures = figures
        self._access = Access(
            lambda: accounts or {}, Passwords(), lambda name, source: None, "leverframe_watch"
        )

    def find_other(self, request: Request) -> WatchEndpoint:
        return _PAGE

    def recognise(self, request: Request, endpoint: WatchEndpoint) -> Account | None:
        self._names.check_host(request)
        if self._accounts is None or endpoint.role == ANYBODY:
            return UNRESTRICTED
        account = self._access.recognise(request)
        if account is ANONYMOUS:
            raise SignInRequired("Sign in with the account of the watch.")
        return account

    async def check_password(self, request: Request) -> Account:
        return await self._access.who(request)

    def check(self, request: Request, endpoint: WatchEndpoint, account: Account) -> None:
        if request.method not in endpoint.methods:
            raise wrong_method(request.path, endpoint.methods[:1])
        if request.method == "POST":
            self._names.check_page(request, needs_source=False)

    def call(self, request: Request, endpoint: WatchEndpoint, account: Account) -> Answer:
        value = endpoint.function(self, request)
        if isinstance(value, Coroutine):
            value = _refusing_errors(value)
        return self.answer(request, endpoint, value)

    # --- what is answered -------------------------------------------------------------------------

    def health(self, _: Request) -> dict[str, Any]:
        return {"status": "ok"}

    def metrics(self, _: Request) -> Reply:
        families = [
            *unit_families(self._watcher.health.values()),
            *self._figures(),
            *process_families(),
        ]
        return Reply(200, METRICS, prometheus_text(families))

    def units(self, _: Request) -> dict[str, Any]:
        return {
            "version": __version__,
            "time": self._clock.wall(),
            "may_apply": self._accounts is not None,
            "units": [self._describe(unit) for unit in worst_first(self._watcher.health.values())],
        }

    def _describe(self, health: UnitHealth) -> dict[str, Any]:
        changes = self._unit_changes
        return {
            **health.public_fields(),
            "has_file": health.name in changes.wanted,
            "progress": changes.progress.get(health.name),
        }

    def state(self, request: Request) -> dict[str, Any]:
        """Return the values of a unit by label, as in `/api/state` of a controller."""
        health = self._health_of(request)
        return {
            **health.values,
            "profile": {"hw": health.hardware, "sw": health.software},
            "time": health.seen,
            "uptime": health.uptime_s if health.is_up else None,
            "troubles": health.troubles,
            "findings": health.findings,
        }

    async def list_history(self, request: Request) -> Reply:
        health = self._health_of(request)
        given = [one for one in parse_qsl(request.query or "") if one[0] != "unit"]
        span = span_of(urlencode(given), self._clock.wall(), USUAL_POINTS)
        labels = span.labels or tuple(health.values)
        prefix = f"{health.name}/"
        asked = replace(span, labels=tuple(prefix + label for label in labels))
        try:
            body = await self._history.ask(
                lambda compactor: b"".join(answer_pieces(compactor, asked, prefix))
            )
        except StoreUnavailable as error:
            raise HistoryUnreadable(str(error)) from error
        return Reply(200, JSON, body, (NOT_KEPT,))

    async def look(self, request: Request) -> dict[str, Any]:
        return self._describe(await self._watcher.look(self._health_of(request).name))

    async def pull(self, request: Request) -> dict[str, Any]:
        health = self._health_of(request)
        await self._watcher.pull(health.name)
        return self._describe(health)

    async def diff(self, request: Request) -> list[DriftedSetting]:
        return await self._unit_changes.compare(self._health_of(request).name)

    async def plan(self, request: Request) -> ShownPlan:
        return await self._unit_changes.plan(self._health_of(request).name)

    async def apply(self, request: Request) -> ChangeProgress:
        name = self._health_of(request).name
        if self._accounts is None:
            raise NotAllowed(
                "Changing units here requires sign-in; set a password for the watch in its"
                " inventory, or use `leverframe unit apply`."
            )
        key = dict(parse_qsl(request.query or "")).get("plan", "")
        return self._unit_changes.apply(name, key)

    def _health_of(self, request: Request) -> UnitHealth:
        name = dict(parse_qsl(request.query or "")).get("unit", "")
        health = self._watcher.health.get(name)
        if health is None:
            raise NoSuchUnit(
                "There is no unit with this name; name a unit with ?unit=NAME.",
                field="unit",
                allowed=", ".join(self._watcher.health),
            )
        return health


async def _refusing_errors(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except ErrorForPeople as error:
        raise NotDone(str(error)) from error


def _page(_: WatchWeb, request: Request) -> Coroutine[Any, Any, Reply]:
    path = PAGE if request.path == "/" else request.path
    if path not in pages():
        raise NoSuchPath("There is nothing at this path.")
    return page_reply(path, request)


_READ = partial(WatchEndpoint, role=ADMIN)
_CHANGE = partial(_READ, methods=("POST",))
#: The page and its files.
_PAGE = _READ("/", function=_page, doc="Show the units.")
ENDPOINTS = (
    WatchEndpoint(
        "/health",
        role=ANYBODY,
        function=WatchWeb.health,
        doc="Report to supervisors whether the watch runs.",
    ),
    _READ("/metrics", function=WatchWeb.metrics, doc="List metrics for Prometheus."),
    _READ("/api/units", function=WatchWeb.units, doc="List the units, worst first."),
    _READ("/api/state", function=WatchWeb.state, doc="Show the values of a unit by label."),
    _READ("/api/history", function=WatchWeb.list_history, doc="Show recorded values of a unit."),
    _CHANGE("/api/units/look", function=WatchWeb.look, doc="Poll a unit now."),
    _CHANGE("/api/units/pull", function=WatchWeb.pull, doc="Read the settings of a unit now."),
    _CHANGE("/api/units/diff", function=WatchWeb.diff, doc="Compare a unit with its file."),
    _CHANGE(
        "/api/units/plan", function=WatchWeb.plan, doc=("Plan the changes that its file requires.")
    ),
    _CHANGE("/api/units/apply", function=WatchWeb.apply, doc="Carry out a shown plan."),
)
_TABLE = {endpoint.path: endpoint for endpoint in ENDPOINTS}
