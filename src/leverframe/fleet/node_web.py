"""The handler of requests to a node itself: authentication, permissions, and the answer of the API.

`accounts` identifies the requester. Tenants are refused the operations that are declared for the
operator only. GET changes nothing. Requests caused by a page of another site are refused, since
browsers send the password automatically.
"""

from collections.abc import Coroutine
from contextlib import nullcontext
from types import CoroutineType
from typing import Any

import msgspec
from msgspec.structs import replace

from leverframe.fleet.accounts import THE_OPERATOR, Asking, NodeAccounts
from leverframe.fleet.controller_actions import GroupTime
from leverframe.fleet.entrance import NOTHING, SIGN_IN_PAGE, TOO_MANY, for_people
from leverframe.fleet.groups import GroupSnapshots
from leverframe.fleet.health_index import HealthIndex
from leverframe.fleet.jobs.jobs import FleetJobs
from leverframe.fleet.node import FleetNode
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.context import (
    FleetContext,
    TemplateReader,
    check_body,
    read_parameters,
)
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.other_nodes import NotUnderstood, answering
from leverframe.fleet.page_view import ViewParts
from leverframe.fleet.progress import (
    MAX_ID_LETTERS,
    PROGRESS,
    SILENT_NODES,
    STALE,
    STARTING,
    RequestsUnderWay,
)
from leverframe.fleet.roster import NodeStarting
from leverframe.fleet.scopes import ApiAnswer, ApiCall, run_here
from leverframe.host.reach import random_password
from leverframe.interface.descriptions.schemas import FORM
from leverframe.interface.table.lookup import require
from leverframe.interface.table.refusals import BadValue, NotAllowed, Refusal, SignInRequired
from leverframe.interface.table.row import ANYONE, CONTROL
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.limits import ends_with_client
from leverframe.server.http.messages import NOT_KEPT, Answer, AnyReply, Headers, Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.problems import NoSuchPath, TooManyTries
from leverframe.server.routes.context import StreamShares
from leverframe.server.routes.dispatcher import Dispatcher, wrong_method
from leverframe.server.routes.pages import PREFIX, page_reply, pages
from leverframe.server.routes.sentence_page import PageSentence
from leverframe.storage.store import StoreUnavailable

FRONT_PAGE = f"{PREFIX}fleet.html"

_PROGRESS = PROGRESS.lower()
_BY_PATH = {one.path: one for one in OPERATIONS}


@operation("/", role=CONTROL, while_starting=True)
async def _show_page(context: FleetContext) -> Reply:
    """Serve the page and its files."""
    path = context.request.path
    return await page_reply(FRONT_PAGE if path == "/" else path, context.request)


#: Refusals that browsers get as pages: the sentence, and the target of the link.
_IN_WORDS: dict[type[Refusal], tuple[dict[str, PageSentence], str]] = {
    NoSuchPath: (NOTHING, "/"),
    SignInRequired: (SIGN_IN_PAGE, ""),
    TooManyTries: (TOO_MANY, ""),
}


class NodeWeb(Dispatcher[Operation[Any], Asking]):
    """The handler of all requests to the node itself."""

    table = _BY_PATH
    realm = "Leverframe fleet"

    def __init__(self, node: FleetNode, names: OwnNames, passwords: Passwords) -> None:
        self.node = node
        self.time = GroupTime(node)
        self.snapshots = GroupSnapshots(node)
        self.jobs = FleetJobs(node, self.snapshots, passwords)
        self.index = HealthIndex(node)
        self._streams = StreamShares()
        self._under_way = RequestsUnderWay()
        self._templates = TemplateReader()
        node.endings += [ViewParts(node, self.index).close, self.index.close]
        self._names = names
        self._passwords = passwords
        self.accounts = NodeAccounts(
            node.registry,
            node.lane,
            passwords,
            must_sign_in=node.options.must_sign_in,
        )
        node.look_at_accounts = self.accounts.look_again
        node.door.shows_causes = lambda: not self.accounts.must_sign_in
        node.calls["api"] = answering(ApiCall, self._answer_node)
        self._marked = node.options.marked(super().handle)

    def handle(
        self, request: Request, requester: Asking | None = None, only_head: bool = False
    ) -> Answer:
        if requester is None and not only_head:
            return self._marked(request)
        return super().handle(request, requester, only_head)

    def find_other(self, request: Request) -> Operation[Any]:
        if request.path == "/" or request.path in pages():
            return _show_page
        raise NoSuchPath(
            "This is a node with many controllers, and there is nothing at this path. Each"
            " controller is available at its own name, address or port; see /api/fleet/list."
        )

    def recognise(self, request: Request, endpoint: Operation[Any]) -> Asking | None:
        if request.method not in endpoint.methods:
            raise wrong_method(endpoint.path, endpoint.methods)
        if request.query or request.method == "POST":
            self._names.check_page(request, needs_source=False)
        return THE_OPERATOR if endpoint.role == ANYONE else self.accounts.recognise(request)

    async def check_password(self, request: Request) -> Asking:
        return await self.accounts.who(request)

    def check(self, request: Request, endpoint: Operation[Any], asking: Asking) -> None:
        try:
            require(asking.account, endpoint.role)
        except SignInRequired:
            raise SignInRequired("This node requires a user name and a password.") from None
        if asking.tenant is not None and not endpoint.for_tenants:
            raise NotAllowed("Only the operator of the fleet may do this.")
        if not request.owned_bytes:
            request.owner = asking.tenant or ""

    def call(self, request: Request, endpoint: Operation[Any], asking: Asking) -> Answer:
        self._check_started(endpoint, asking)
        form = _form_in(request, endpoint)
        if form is not None:
            request = replace(request, body=b"")
        elif endpoint.body is not None:
            check_body(request.body, endpoint.body)
        given = "&".join(filter(None, (request.query, form)))
        context = self._context(request, asking, read_parameters(given, endpoint.query))
        value = endpoint.answer(context)
        if isinstance(value, CoroutineType):
            value = self._follow(value, endpoint, context)
        else:
            value = _reply(value, endpoint, context)
        return self.answer(request, endpoint, value)

    def refusal_of_store(self, endpoint: Operation[Any], error: StoreUnavailable) -> Refusal:
        return endpoint.refusal(error)

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        reply = super().refuse(request, refusal)
        if isinstance(refusal, NodeStarting):
            reply.headers = (*reply.headers, (STARTING, refusal.counted))
        sentences, link = _IN_WORDS.get(type(refusal), (None, ""))
        return reply if sentences is None else for_people(request, reply, sentences, link)

    def _check_started(self, endpoint: Operation[Any], asking: Asking) -> None:
        """While the node starts, refuse requests that only some controllers could answer."""
        if not self.node.roster.is_starting:
            return
        others = self.node.cluster
        if others is not None and others.living():
            # This node has joined other nodes, and knows even the controllers that are still
            # starting.
            return
        is_to_join = self.node.door.directory is not None
        if not endpoint.while_starting or (is_to_join and endpoint.scope is not None):
            self.node.roster.check_started(asking.tenant)

    def _context(
        self, request: Request, asking: Asking, parameters: dict[str, Any]
    ) -> FleetContext:
        return FleetContext(
            request,
            asking,
            parameters,
            self.node,
            self.time,
            self.snapshots,
            self.jobs,
            self.index,
            self._streams,
            self.accounts,
            self._passwords,
            self._under_way,
            self._templates,
            self.new_administrator,
        )

    async def _follow(
        self, work: Coroutine[Any, Any, Any], endpoint: Operation[Any], context: FleetContext
    ) -> AnyReply:
        """Await an answer while counting its progress, which clients may query."""
        id = context.request.headers.get(_PROGRESS)
        try:
            if id is not None and len(id) > MAX_ID_LETTERS:
                raise BadValue(
                    f"The header {PROGRESS} is too long.", allowed=f"up to {MAX_ID_LETTERS} letters"
                )
            dry_run, tenant = context.given.get("dry_run", False), context.tenant
            until_client_leaves = (
                ends_with_client() if endpoint.only_reads or dry_run else nullcontext()
            )
            is_large = endpoint is not _show_page and endpoint.holds_much(dry_run=dry_run)
            place = self._under_way.large(tenant) if is_large else nullcontext()
            with self._under_way.follow(tenant, id), until_client_leaves:
                async with place:
                    return _reply(await work, endpoint, context)
        finally:
            # Avoids a warning if the coroutine has not begun.
            work.close()

    async def _answer_node(self, call: ApiCall) -> ApiAnswer:
        """Run a request that another node received, for controllers of this node."""
        endpoint = _BY_PATH.get(call.path)
        if endpoint is None:
            raise NotUnderstood
        request = Request(endpoint.methods[0], call.path, None, {}, call.body, call.source)
        self.check(request, endpoint, call.asking)
        context = self._context(request, call.asking, call.given)
        try:
            value, missing = await run_here(context, endpoint, call.numbers)
        except StoreUnavailable as error:
            raise endpoint.refusal(error) from error
        others = self.node.cluster
        is_stale = others is not None and others.why_not() is not None
        not_started = {number: why for number, why in missing.items() if why is not None}
        return ApiAnswer(msgspec.json.encode(value), list(missing), is_stale, not_started)

    async def new_administrator(self) -> tuple[str | None, dict[str, Any]]:
        """Create a password for new controllers, unless only this machine can reach them."""
        if not (self.node.options.must_sign_in or self.accounts.protects_controllers):
            return None, {}
        password = random_password()
        hashed = await self._passwords.hash(password)
        return password, {"access.admin.password": hashed, "access.required": True}


def _form_in(request: Request, endpoint: Operation[Any]) -> str | None:
    """Return the parameters in the body; None if the body is not a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not endpoint.takes_form or kind != FORM:
        return None
    return request.body.decode("utf-8", "replace")


def _reply(value: Any, endpoint: Operation[Any], context: FleetContext) -> AnyReply:
    if isinstance(value, AnyReply):
        return value
    headers: Headers = (NOT_KEPT,)
    if context.silent:
        headers = (*headers, (SILENT_NODES, ", ".join(sorted(context.silent))))
    if context.stale:
        headers = (*headers, STALE)
    return Reply(200, endpoint.content_type, msgspec.json.encode(value), headers)
