"""The way of a request through a table of endpoints, whatever server brings the table."""

import time
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from leverframe.interface.descriptions.openapi import EndpointDescription
from leverframe.interface.table.refusals import NotAllowed, SignInRequired
from leverframe.server.http.messages import NOT_KEPT, PROBLEM_TYPE, Answer, Reply, Request
from leverframe.server.problems import NoSuchPath
from leverframe.server.routes.dispatcher import VALID_UNTIL, Dispatcher, wrong_method
from leverframe.storage.store import StoreUnavailable
from tests.cases import for_each


class Row(EndpointDescription, frozen=True, kw_only=True):
    function: Callable[[], Any]


async def slowly() -> str:
    return "slow"


async def refusing() -> str:
    raise NotAllowed("Not today.")


async def without_store() -> str:
    raise StoreUnavailable("The disk is full.")


def row(path: str, function: Callable[[], Any]) -> Row:
    return Row(path, role="", doc="", function=function, content_type="text/x")


ROWS = (
    row("/value", lambda: {"a": 1}),
    row("/reply", lambda: Reply(204, "", b"")),
    row("/slow", slowly),
    row("/refusing", refusing),
    row("/without-store", without_store),
)


class Server(Dispatcher[Row, str]):
    """Takes who asks from a header; a stranger has to be looked up, and only `ann` is known."""

    table = {row.path: row for row in ROWS}
    realm = "Test"
    headers = (NOT_KEPT,)

    def __init__(self) -> None:
        self.recognised = 0

    def find_other(self, request: Request) -> Row:
        raise NoSuchPath("There is nothing at this path.")

    def recognise(self, request: Request, endpoint: Row) -> str | None:
        self.recognised += 1
        return None if "authorization" in request.headers else "ben"

    async def check_password(self, request: Request) -> str:
        if request.headers["authorization"] != "ann":
            raise SignInRequired("Who is that?")
        return "ann"

    def check(self, request: Request, endpoint: Row, requester: str) -> None:
        if requester == "eve":
            raise NotAllowed("Not eve.")

    def call(self, request: Request, endpoint: Row, requester: str) -> Answer:
        if request.method not in endpoint.methods:
            raise wrong_method(endpoint.path, endpoint.methods)
        return self.answer(request, endpoint, endpoint.function())


async def finish(answer: Answer) -> Reply:
    reply = await answer if isinstance(answer, Coroutine) else answer
    assert isinstance(reply, Reply)
    return reply


def request_to(path: str, method: str = "GET", **headers: str) -> Request:
    return Request(method, path, None, headers)


async def test_values_are_encoded_and_whole_replies_are_sent_as_they_are() -> None:
    value, reply = Server().handle(request_to("/value")), Server().handle(request_to("/reply"))
    assert value == Reply(200, "text/x", b'{"a":1}', (NOT_KEPT,))
    assert reply == Reply(204, "", b"")
    assert (await finish(Server().handle(request_to("/slow")))).body == b'"slow"'


@for_each(
    ("path", "method", "status"),
    [
        ("/nothing", "GET", 404),
        ("/value", "POST", 405),
        ("/refusing", "GET", 403),
        ("/without-store", "GET", 503),
    ],
)
async def test_refusals_are_problem_documents_also_of_what_is_awaited(
    path: str, method: str, status: int
) -> None:
    reply = await finish(Server().handle(request_to(path, method)))
    assert (reply.status, reply.content_type) == (status, PROBLEM_TYPE)
    assert msgspec.json.decode(reply.body)["status"] == status


async def test_password_is_checked_before_the_answer_and_a_wrong_one_is_asked_for_again() -> None:
    server = Server()
    assert (await finish(server.handle(request_to("/slow", authorization="ann")))).status == 200
    refused = await finish(server.handle(request_to("/value", authorization="eve")))
    assert refused.status == 401
    assert ("WWW-Authenticate", 'Basic realm="Test", charset="UTF-8"') in refused.headers
    assert server.recognised == 2


@for_each(
    ("seconds", "status"),
    [(60, 200), (-1, 412), (float("nan"), 412), ("soon", 400)],
)
async def test_request_is_carried_out_only_as_long_as_it_is_valid(
    seconds: float | str, status: int
) -> None:
    valid_until = seconds if isinstance(seconds, str) else str(time.time() + seconds)
    request = request_to("/value", **{VALID_UNTIL: valid_until})
    assert (await finish(Server().handle(request))).status == status


async def test_requester_that_is_named_is_not_recognised_but_checked() -> None:
    server = Server()
    assert (await finish(server.handle(request_to("/value"), requester="ann"))).status == 200
    assert (await finish(server.handle(request_to("/value"), requester="eve"))).status == 403
    assert server.recognised == 0


async def test_body_is_admitted_by_the_head_alone_without_calling_the_endpoint() -> None:
    assert (await finish(Server().admit_body(request_to("/refusing", "POST")))).status == 100
    checked = Server().admit_body(request_to("/refusing", "POST", authorization="ann"))
    assert (await finish(checked)).status == 100
    assert (await finish(Server().admit_body(request_to("/nothing", "POST")))).status == 404
