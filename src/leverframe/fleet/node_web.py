"""The handler of requests to a node itself: who asks, what for, and the answer of the API.

Who that is, `node_accounts` tells; what is for the operator alone is refused to tenants here, by
what the endpoint says of itself. Nothing is changed by GET, and what a page of another site has
made a browser send is refused: browsers send the password by themselves.
"""

from collections.abc import Coroutine
from contextlib import nullcontext
from functools import partial
from types import CoroutineType
from typing import Any

import msgspec
from msgspec.structs import replace

from leverframe.commands.describe.media_types import FORM
from leverframe.commands.table.refusals import BadValue, NotAllowed, Refusal, SignInRequired
from leverframe.commands.table.rights import require
from leverframe.commands.table.row import ANYBODY, CONTROL
from leverframe.fleet.answer_headers import PROGRESS, SILENT_NODES, STALE, STARTING
from leverframe.fleet.group_snapshots import GroupSnapshots
from leverframe.fleet.health_index import HealthIndex
from leverframe.fleet.jobs.jobs import FleetJobs
from leverframe.fleet.live import GroupTime
from leverframe.fleet.node import FleetNode
from leverframe.fleet.node_accounts import THE_OPERATOR, Asking, NodeAccounts
from leverframe.fleet.node_start import NodeStarting
from leverframe.fleet.operation import Operation, operation
from leverframe.fleet.operations.context import FleetContext
from leverframe.fleet.operations.parameters import check_body, read_parameters
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.other_nodes import NotUnderstood, answering
from leverframe.fleet.progress import MAX_ID_LETTERS, RequestsUnderWay
from leverframe.fleet.refusal_pages import NOTHING, SIGN_IN, TOO_MANY, for_people
from leverframe.fleet.scopes import ApiAnswer, ApiCall, run_here
from leverframe.fleet.templates import TemplateReader
from leverframe.fleet.view_parts import ViewParts
from leverframe.process.administrator import random_password
from leverframe.servers.accounts.cross_site import OwnNames
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.http.client_presence import ends_with_client
from leverframe.servers.http.messages import (
    CONTINUE,
    NOT_KEPT,
    Answer,
    AnyReply,
    Handler,
    Headers,
    Reply,
    Request,
)
from leverframe.servers.problems import (
    NoSuchPath,
    TooManyTries,
    WrongMethodForPath,
    reply_to_refusal,
)
from leverframe.servers.routes.pages import PREFIX, page_reply, pages
from leverframe.servers.routes.sentence_page import PageSentence
from leverframe.servers.routes.stream_shares import StreamShares
from leverframe.storage.store import StoreUnavailable

FRONT_PAGE = f"{PREFIX}fleet.html"

_PROGRESS = PROGRESS.lower()
_BY_PATH = {one.path: one for one in OPERATIONS}


@operation("/", role=CONTROL, while_starting=True)
async def _show_page(context: FleetContext) -> Reply:
    """Show the page, and the files that it is made of."""
    path = context.request.path
    return await page_reply(FRONT_PAGE if path == "/" else path, context.request)


#: Refusals that people get to see as pages, and where the way on leads.
_IN_WORDS: dict[type[Refusal], tuple[dict[str, PageSentence], str]] = {
    NoSuchPath: (NOTHING, "/"),
    SignInRequired: (SIGN_IN, ""),
    TooManyTries: (TOO_MANY, ""),
}


class NodeWeb:
    """The handler of all requests to the node itself."""

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
        node.not_started.is_told_to_all = lambda: not self.accounts.must_sign_in
        node.calls["api"] = answering(ApiCall, self._asked_by_node)
        self.handle: Handler = node.options.marked(partial(self._admitted, only_admit=False))

    def admit_body(self, request: Request) -> Answer:
        """Return by its head whether the body of a request is taken: `CONTINUE`, or the refusal."""
        return self._admitted(request, only_admit=True)

    def _admitted(self, request: Request, *, only_admit: bool) -> Answer:
        try:
            endpoint = _endpoint(request)
            if request.query or request.method == "POST":
                self._names.check_page(request, needs_source=False)
            if endpoint.role == ANYBODY:
                asking = THE_OPERATOR
            else:
                known = self.accounts.recognise(request)
                if known is None:
                    return self._with_password(request, endpoint, only_admit=only_admit)
                _check(known, endpoint)
                asking = known
            return CONTINUE if only_admit else self._answer(request, endpoint, asking)
        except Refusal as refusal:
            return _refused(request, refusal)

    async def _with_password(
        self, request: Request, endpoint: Operation[Any], *, only_admit: bool
    ) -> AnyReply:
        try:
            asking = await self.accounts.who(request)
            _check(asking, endpoint)
            if only_admit:
                return CONTINUE
            answer = self._answer(request, endpoint, asking)
            return answer if isinstance(answer, AnyReply) else await answer
        except Refusal as refusal:
            return _refused(request, refusal)

    def _answer(self, request: Request, endpoint: Operation[Any], asking: Asking) -> Answer:
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
            return self._awaited(value, endpoint, context)
        return _reply(value, endpoint, context)

    def _check_started(self, endpoint: Operation[Any], asking: Asking) -> None:
        """Refuse what would be answered for a part of the controllers, while the node starts."""
        if not self.node.start.is_under_way:
            return
        others = self.node.cluster
        if others is not None and others.living():
            # It has joined them, and knows of all controllers, also of those on their way.
            return
        is_to_join = self.node.door.directory is not None
        if not endpoint.while_starting or (is_to_join and endpoint.scope is not None):
            self.node.start.check_over(asking.tenant)

    def _context(self, request: Request, asking: Asking, given: dict[str, Any]) -> FleetContext:
        return FleetContext(
            request,
            asking,
            given,
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

    async def _awaited(
        self, work: Coroutine[Any, Any, Any], endpoint: Operation[Any], context: FleetContext
    ) -> AnyReply:
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
            with self._under_way.followed(tenant, id), until_client_leaves:
                async with place:
                    return _reply(await work, endpoint, context)
        except Refusal as refusal:
            return _refused(context.request, refusal)
        except StoreUnavailable as error:
            return _refused(context.request, endpoint.refusal(error))
        finally:
            # Where it never began.
            work.close()

    async def _asked_by_node(self, call: ApiCall) -> ApiAnswer:
        """Do for controllers of this node what a person has asked another node for."""
        endpoint = _BY_PATH.get(call.path)
        if endpoint is None:
            raise NotUnderstood
        request = Request(endpoint.methods[0], call.path, None, {}, call.body, call.source)
        _check(call.asking, endpoint)
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
        """Make a password for new controllers, where these are not for this machine alone."""
        if not (self.node.options.must_sign_in or self.accounts.protects_controllers):
            return None, {}
        password = random_password()
        hashed = await self._passwords.hash(password)
        return password, {"access.admin.password": hashed, "access.required": True}


def _check(asking: Asking, endpoint: Operation[Any]) -> None:
    """Refuse who may not use an endpoint."""
    try:
        require(asking.account, endpoint.role)
    except SignInRequired:
        raise SignInRequired("This node asks for a user name and password.") from None
    if asking.tenant is not None and not endpoint.for_tenants:
        raise NotAllowed("Only the operator of the fleet may do this.")


def _endpoint(request: Request) -> Operation[Any]:
    endpoint = _BY_PATH.get(request.path)
    if endpoint is None and (request.path == "/" or request.path in pages()):
        endpoint = _show_page
    if endpoint is None:
        raise NoSuchPath(
            "This is a node with many controllers, and there is nothing at this path. Ask for a"
            " controller by its own name, address or port; /api/fleet/list lists them."
        )
    if request.method not in endpoint.methods:
        raise WrongMethodForPath(
            f"{endpoint.path} takes {endpoint.methods[0]}.", allowed=", ".join(endpoint.methods)
        )
    return endpoint


def _form_in(request: Request, endpoint: Operation[Any]) -> str | None:
    """Return the parameters that stand in the body; None where it is something else."""
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


def _refused(request: Request, refusal: Refusal) -> Reply:
    reply = reply_to_refusal(refusal)
    if isinstance(refusal, SignInRequired):
        challenge = ("WWW-Authenticate", 'Basic realm="Leverframe fleet", charset="UTF-8"')
        reply = Reply(reply.status, reply.content_type, reply.body, (challenge,))
    elif isinstance(refusal, NodeStarting):
        counted = (STARTING, refusal.counted)
        reply = Reply(reply.status, reply.content_type, reply.body, (*reply.headers, counted))
    sentences, link = _IN_WORDS.get(type(refusal), (None, ""))
    return reply if sentences is None else for_people(request, reply, sentences, link)
