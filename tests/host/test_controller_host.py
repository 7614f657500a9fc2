"""The host of a controller: what is opened for it, and the order in which that ends."""

from datetime import UTC

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import build
from leverframe.server.http.messages import Answer, Handler, Request, complete_answer
from leverframe.storage.store import MemoryStore


class Part:
    """Something beside the controller that records when it ends."""

    def __init__(self, name: str, ended: list[str], error: Exception | None = None) -> None:
        self._name, self._ended, self._error = name, ended, error

    async def close(self) -> None:
        self._ended.append(self._name)
        if self._error is not None:
            raise self._error


async def test_parts_are_closed_in_reverse_order_even_if_one_fails() -> None:
    host = await build(Profile(), MemoryStore(), VirtualClock(), UTC)
    ended: list[str] = []
    host.add(Part("first", ended), Part("second", ended, ValueError("broken")))
    host.add(Part("third", ended))
    await host.stop()
    assert ended == ["third", "second", "first"]


async def test_a_host_without_ports_answers_by_its_handlers_which_go_outward_as_asked() -> None:
    host = await build(Profile(), MemoryStore(), VirtualClock(), UTC)
    paths: list[str] = []

    def outward(handler: Handler) -> Handler:
        def handle(request: Request) -> Answer:
            paths.append(request.path)
            return handler(request)

        return handle

    handle, _ = host.handlers(outward)
    reply = await complete_answer(handle(Request("GET", "/outs.cgi", None, {}, b"", "127.0.0.1")))
    assert (reply.status, paths, host.controller.open_ports()) == (200, ["/outs.cgi"], {})
    await host.stop()
