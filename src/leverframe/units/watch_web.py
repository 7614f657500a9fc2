"""The small HTTP server of `unit watch`: metrics, states, history, and the page of the units.

Requests that change nothing are GET; polling and reading are POST, which no page of another site
can send. Unless the address is loopback, all users sign in with HTTP Basic, with the same waits
after wrong passwords as on a controller.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from msgspec.structs import replace

from leverframe import __version__
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import ENERGIES, READINGS, STATES
from leverframe.core.recent import count_recent
from leverframe.core.runtime.clock import Clock
from leverframe.devices.wire.prometheus import (
    COUNTER,
    GAUGE,
    Family,
    Labels,
    Sample,
    prometheus_text,
)
from leverframe.interface.descriptions.openapi import EndpointDescription
from leverframe.interface.descriptions.schemas import JSON
from leverframe.interface.table.lookup import ANONYMOUS, UNRESTRICTED, Account
from leverframe.interface.table.refusals import NotAllowed, Refusal, SignInRequired
from leverframe.interface.table.row import ADMIN, ANYONE
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import NOT_KEPT, Answer, Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.problems import NoSuchPath
from leverframe.server.routes.dispatcher import Dispatcher, wrong_method
from leverframe.server.routes.history import USUAL_POINTS, HistoryUnreadable, span_of
from leverframe.server.routes.metrics import METRICS, process_families
from leverframe.server.routes.pages import PREFIX, page_reply, pages
from leverframe.server.sessions import Access, Accounts
from leverframe.storage.history.queries import answer_pieces
from leverframe.storage.history.worker import HistoryRecorder
from leverframe.storage.store import StoreUnavailable
from leverframe.units.comparison import DriftedSetting
from leverframe.units.unit_health import UnitHealth, worst_first
from leverframe.units.watch_changes import ChangeProgress, ShownPlan, UnitChanges
from leverframe.units.watcher import UnitWatcher

# `/metrics` of `unit watch`: values and health of every unit, in the format of Prometheus.
#
# A unit that did not answer has no values: an unknown metric is left out.

_READINGS = tuple(label for label in READINGS if label not in ENERGIES)


#: Metrics by name: the description, and the function that returns the value for a unit; a metric
#: without a value (None) is left out.
_Figures = dict[str, tuple[str, Callable[[UnitHealth], float | None]]]
_GAUGES: _Figures = {
    "up": ("Whether the last poll of the unit was complete.", lambda unit: int(unit.is_up)),
    "seen_timestamp_seconds": (
        "Time of the last correct answer of the unit.",
        lambda unit: unit.seen,
    ),
    "uptime_seconds": (
        "Time since the unit started.",
        lambda unit: unit.uptime_s if unit.is_up else None,
    ),
    "drift": (
        "Differences from the unit's file; omitted while unknown.",
        lambda unit: None if unit.differences is None else len(unit.differences),
    ),
}
_COUNTERS: _Figures = {
    "restarts": ("Restarts of the unit since the start of the watch.", lambda unit: unit.restarts),
    "looks": ("Polls of the unit.", lambda unit: unit.looks),
    "failed_looks": ("Failed polls of the unit.", lambda unit: unit.failures),
}


def unit_families(units: Iterable[UnitHealth]) -> Iterator[Family]:
    """Return the families of all units; the label `name` is the name in the inventory."""
    known = list(units)
    yield Family(
        "leverframe_unit_info",
        GAUGE,
        "Identity of the unit.",
        [(_identity(unit), 1) for unit in known if unit.hardware],
    )
    for name, (text, figure) in _GAUGES.items():
        samples = [({"name": unit.name}, figure(unit)) for unit in known]
        yield Family(f"leverframe_unit_{name}", GAUGE, text, samples)
    for name, (text, figure) in _COUNTERS.items():
        samples = [({"name": unit.name}, figure(unit)) for unit in known]
        yield Family(f"leverframe_unit_{name}_total", COUNTER, text, samples)
    yield Family(
        "leverframe_unit_trouble",
        GAUGE,
        "Problems of the unit: 1 for each problem; a lost sensor is `lost` and its label, a"
        " finding of the unit `finding` and its identifier.",
        [
            ({"name": unit.name, "kind": kind, "severity": problem.severity}, 1)
            for unit in known
            for kind, problem in unit.problems.items()
        ],
    )
    yield Family(
        "leverframe_unit_reading",
        GAUGE,
        "Measured or computed value of the unit, in its unit of measurement.",
        list(_of(known, _READINGS)),
    )
    yield Family(
        "leverframe_unit_energy_total",
        COUNTER,
        "Meter count of the unit.",
        list(_of(known, ENERGIES)),
    )
    yield Family(
        "leverframe_unit_state",
        GAUGE,
        "Outputs, inputs, event variables and the MQTT connection of the unit: 1 or 0.",
        list(_of(known, STATES)),
    )
    yield Family(
        "leverframe_unit_pwm_duty_percent",
        GAUGE,
        "The duty of a PWM output of the unit.",
        list(_of(known, DUTIES)),
    )


def _identity(unit: UnitHealth) -> Labels:
    return {
        "name": unit.name,
        "address": unit.address,
        "mac": unit.mac,
        "hw": unit.hardware,
        "sw": unit.software,
    }


def _of(units: Iterable[UnitHealth], labels: tuple[str, ...]) -> Iterator[Sample]:
    for unit in units:
        for label in labels:
            if (value := unit.values.get(label)) is not None:
                yield {"name": unit.name, "label": label.partition(".duty")[0]}, value


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
        if self._accounts is None or endpoint.role == ANYONE:
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

    # --- endpoints --------------------------------------------------------------------------------

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
            "levers": health.levers,
            "happened": count_recent(reversed(health.changed), self._clock.wall()),
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
        role=ANYONE,
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
        "/api/units/plan",
        function=WatchWeb.plan,
        doc=("Plan the changes that bring a unit to the settings of its file."),
    ),
    _CHANGE("/api/units/apply", function=WatchWeb.apply, doc="Carry out a shown plan."),
)
_TABLE = {endpoint.path: endpoint for endpoint in ENDPOINTS}
