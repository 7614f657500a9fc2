"""The small HTTP server of `unit watch`: figures, states, history, and the page of the units.

Requests that change nothing are GETs; looking and reading again are POSTs, which no page of another
site can make. Beyond loopback everybody signs in by HTTP Basic, at the pace that wrong passwords
have at a controller.
"""

import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec.structs import replace

from leverframe import __version__
from leverframe.clock import Clock
from leverframe.commands.table.refusals import NotAllowed, Refusal, SignInRequired
from leverframe.commands.table.rights import ANONYMOUS
from leverframe.errors import ErrorForPeople
from leverframe.servers.accounts.access import Access
from leverframe.servers.accounts.cross_site import OwnNames
from leverframe.servers.accounts.known_accounts import Accounts
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.accounts.sessions import Sessions
from leverframe.servers.http.messages import (
    NOT_KEPT,
    Answer,
    AnyReply,
    Reply,
    Request,
)
from leverframe.servers.problems import NoSuchPath, WrongMethodForPath, reply_to_refusal
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

JSON = "application/json"
PAGE = f"{PREFIX}units.html"
#: All that is answered besides the page.
PATHS = HEALTH, FIGURES, UNITS, STATE, HISTORY, LOOK, PULL, DIFF, PLAN, APPLY = (
    *("/health", "/metrics", "/api/units", "/api/state", "/api/history"),
    *("/api/units/look", "/api/units/pull"),
    *("/api/units/diff", "/api/units/plan", "/api/units/apply"),
)
_CHALLENGE = (("WWW-Authenticate", 'Basic realm="Leverframe", charset="UTF-8"'),)


class NoSuchUnit(Refusal):
    status = 404
    title = "There is no such unit"


class NotDone(Refusal):
    status = 409
    title = "It could not be done"


Function = Callable[[Request], Any]


class WatchWeb:
    """The handler of all requests; `accounts` None is for who is at this machine alone."""

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
        self._watcher = watcher
        self._history = history
        self._clock = clock
        self._names = names
        self._unit_changes = changes
        self._accounts = accounts
        self._figures = figures
        sessions = Sessions("leverframe_watch", time.monotonic)
        self._access = Access(
            lambda: accounts or {}, Passwords(), sessions, time.monotonic, lambda name, source: None
        )
        self._reads: dict[str, Function] = {
            HEALTH: self._health,
            FIGURES: self._metrics,
            UNITS: self._units,
            STATE: self._state,
            HISTORY: self._recorded,
        }
        self._changes: dict[str, Function] = {
            LOOK: self._look,
            PULL: self._pull,
            DIFF: self._diff,
            PLAN: self._plan,
            APPLY: self._apply,
        }

    def handle(self, request: Request) -> Answer:
        try:
            self._names.check_host(request)
            if self._accounts is None or request.path == HEALTH:
                return self._answer(request)
            account = self._access.recognise(request)
            if account is ANONYMOUS:
                raise SignInRequired("Sign in with the account of the watch.")
            return self._answer(request) if account else self._with_password(request)
        except Refusal as refusal:
            return _refused(refusal)

    async def _with_password(self, request: Request) -> AnyReply:
        try:
            await self._access.wait_for_turn(request)
            await self._access.who(request)
            found = self._answer(request)
            return await found if isinstance(found, Coroutine) else found
        except Refusal as refusal:
            return _refused(refusal)

    def _answer(self, request: Request) -> Answer:
        path = request.path
        if path in self._changes:
            if request.method != "POST":
                raise WrongMethodForPath(f"{path} takes POST.", allowed="POST")
            self._names.check_page(request, needs_source=False)
            return self._awaited(self._changes[path](request))
        if request.method not in ("GET", "HEAD"):
            raise WrongMethodForPath(f"{path} takes GET.", allowed="GET")
        if path in self._reads:
            found = self._reads[path](request)
            return self._awaited(found) if isinstance(found, Coroutine) else _as_reply(found)
        page = PAGE if path == "/" else path
        if page not in pages():
            raise NoSuchPath("There is nothing at this path.")
        return self._awaited(page_reply(page, request))

    async def _awaited(self, work: Coroutine[Any, Any, Any]) -> AnyReply:
        try:
            return _as_reply(await work)
        except Refusal as refusal:
            return _refused(refusal)
        except ErrorForPeople as error:
            return _refused(NotDone(str(error)))

    # --- what is answered -------------------------------------------------------------------------

    def _health(self, _: Request) -> dict[str, Any]:
        return {"status": "ok"}

    def _metrics(self, _: Request) -> Reply:
        families = [
            *unit_families(self._watcher.health.values()),
            *self._figures(),
            *process_families(),
        ]
        return Reply(200, METRICS, prometheus_text(families))

    def _units(self, _: Request) -> dict[str, Any]:
        return {
            "version": __version__,
            "time": self._clock.wall(),
            "may_apply": self._accounts is not None,
            "units": [self._shown(unit) for unit in worst_first(self._watcher.health.values())],
        }

    def _shown(self, health: UnitHealth) -> dict[str, Any]:
        changes = self._unit_changes
        return {
            **health.shown(),
            "has_file": health.name in changes.wanted,
            "progress": changes.progress.get(health.name),
        }

    def _state(self, request: Request) -> dict[str, Any]:
        """Return the values of a unit by label, as `/api/state` of a controller has them."""
        health = self._health_of(request)
        return {
            **health.values,
            "profile": {"hw": health.hardware, "sw": health.software},
            "time": health.seen,
            "uptime": health.uptime_s if health.is_up else None,
            "troubles": health.troubles,
            "findings": health.findings,
        }

    async def _recorded(self, request: Request) -> Reply:
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

    async def _look(self, request: Request) -> dict[str, Any]:
        return self._shown(await self._watcher.look(self._health_of(request).name))

    async def _pull(self, request: Request) -> dict[str, Any]:
        health = self._health_of(request)
        await self._watcher.pull(health.name)
        return self._shown(health)

    async def _diff(self, request: Request) -> list[DriftedSetting]:
        return await self._unit_changes.compare(self._health_of(request).name)

    async def _plan(self, request: Request) -> ShownPlan:
        return await self._unit_changes.plan(self._health_of(request).name)

    async def _apply(self, request: Request) -> ChangeProgress:
        name = self._health_of(request).name
        if self._accounts is None:
            raise NotAllowed(
                "Units are changed from here only by who has signed in; give the watch a password"
                " in its inventory, or use `leverframe unit apply`."
            )
        key = dict(parse_qsl(request.query or "")).get("plan", "")
        return self._unit_changes.apply(name, key)

    def _health_of(self, request: Request) -> UnitHealth:
        name = dict(parse_qsl(request.query or "")).get("unit", "")
        health = self._watcher.health.get(name)
        if health is None:
            raise NoSuchUnit(
                "There is no unit of that name; name one with ?unit=NAME.",
                field="unit",
                allowed=", ".join(self._watcher.health),
            )
        return health


def _as_reply(value: Any) -> Reply:
    if isinstance(value, Reply):
        return value
    return Reply(200, JSON, msgspec.json.encode(value), (NOT_KEPT,))


def _refused(refusal: Refusal) -> Reply:
    reply = reply_to_refusal(refusal)
    if isinstance(refusal, SignInRequired):
        return Reply(reply.status, reply.content_type, reply.body, _CHALLENGE)
    return reply
