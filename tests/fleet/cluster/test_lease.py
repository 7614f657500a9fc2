"""What a lease forbids a node: while it is in doubt, and when it is over."""

import asyncio
from typing import Any

from leverframe.fleet.cluster.lease import NodeLease, mark_when_stale
from leverframe.host.controller.hooks import Hindrance
from leverframe.server.http.messages import Reply, Request
from tests.cases import for_each


class Hours:
    def __init__(self) -> None:
        self.now_s = 100.0

    def read(self) -> float:
        return self.now_s


def test_expired_lease_is_in_doubt_and_ended_lease_is_not() -> None:
    time = Hours()
    lease = NodeLease(time.read, 3.0)
    lease.renew(time.now_s)
    assert lease.hindrance() is None
    time.now_s += 3.0
    doubt = lease.hindrance()
    assert doubt is not None
    assert doubt.store_is_away
    assert doubt.reason == lease.why_not()
    lease.renew(time.now_s)
    lease.lapse("Another one has it.")
    assert lease.hindrance() == Hindrance("Another one has it.")
    # The next life is another one.
    time.now_s += 1.0
    lease.renew(time.now_s)
    assert lease.hindrance() is None
    lease.ended = "It went back."
    assert lease.hindrance() == Hindrance("It went back.")


@for_each("event", ["none", "pause", "another life"])
async def test_answer_that_a_pause_delayed_is_marked_stale(event: str) -> None:
    time, may_answer = Hours(), asyncio.Event()
    lease = NodeLease(time.read, 3.0)
    lease.renew(time.now_s)

    async def answer() -> Reply:
        await may_answer.wait()
        return Reply(200, "text/plain", b"off")

    coming: Any = mark_when_stale(lambda _: answer(), lease)(
        Request("GET", "/", None, {}, b"", "127.0.0.1")
    )
    reading = asyncio.ensure_future(coming)
    await asyncio.sleep(0)
    if event != "none":
        time.now_s += 10.0
    if event == "another life":
        lease.lapse("Another one has it.")
        lease.renew(time.now_s)
    may_answer.set()
    reply: Reply = await reading
    assert ("Warning" in dict(reply.headers)) is (event != "none")
