"""A proxy between a client and a unit that forwards everything and reports each exchange.

The proxy handles hop-by-hop headers itself. It translates its own names in `Origin`, `Referer` and
`Location` to those of the unit and back, so that pages work through it. A large or endless answer
is forwarded in pieces as fast as the client reads. An exchange is reported when it is complete.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
from msgspec.structs import replace

from leverframe.core.errors import ErrorForPeople, print_json, print_line
from leverframe.core.runtime.event_loop import stop_by_signal
from leverframe.host.ports import bind_errors_for_people, check_port
from leverframe.host.recordings import RecordingFile
from leverframe.interface.exchange import (
    MAX_TEXT_BYTES,
    REQUEST_HEADERS,
    SECRET_REQUEST_HEADERS,
    Exchange,
    RecordedAnswer,
    RecordedBody,
    mask_headers,
    mask_request,
    record_answer,
)
from leverframe.interface.table.bodies import UPLOAD_LIMIT
from leverframe.interface.table.refusals import Refusal
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import (
    Answer,
    AnyReply,
    Headers,
    Reply,
    Request,
    StreamCut,
    StreamReply,
    problem_reply,
)
from leverframe.server.http.server import HttpLimits, HttpServer
from leverframe.server.problems import reply_to_refusal
from leverframe.testing.recordings.unit_client import UnitClient, UnitSilent, unit_client

HOST = "127.0.0.1"
#: Headers of a single connection.
HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "content-length", "host", "expect"),
        # Bodies are requested uncompressed, so that they can be examined; the proxy itself has no
        # TLS.
        *("accept-encoding", "strict-transport-security"),
    }
)
#: The number of pieces buffered for a slow client, and the time limit.
WAITING_PIECES = 8
CLIENT_S = 60.0

OnExchange = Callable[[Exchange], None]


class Proxy:
    def __init__(self, unit: UnitClient, on_exchange: OnExchange) -> None:
        self._unit = unit
        self._on_exchange = on_exchange
        self._names = OwnNames(HOST)
        self._passing: set[asyncio.Task[None]] = set()
        limits = HttpLimits(body_limit=lambda *_: UPLOAD_LIMIT)
        self._server = HttpServer(self.handle, limits)

    async def start(self, port: int) -> None:
        await self._server.start(HOST, port)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.port}/"

    async def stop(self) -> None:
        await self._server.stop()
        for passing in tuple(self._passing):
            passing.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    def handle(self, request: Request) -> Answer:
        try:
            # The unit must see its own name: the name of the proxy must not reach it.
            self._names.check_host(request)
        except Refusal as refusal:
            return reply_to_refusal(refusal)
        return self._pass_on(request)

    async def _pass_on(self, request: Request) -> AnyReply:
        account = _ExchangeAccount(request, self._on_exchange)
        own = f"http://{request.headers.get('host', '')}"
        target = request.path if request.query is None else f"{request.path}?{request.query}"
        headers = _to_unit(request.headers, own, self._unit.origin)
        try:
            response = await self._unit.begin(request.method, target, headers, request.body)
        except UnitSilent as failure:
            account.close(RecordedAnswer(0, problem=str(failure)))
            return problem_reply(failure.status, str(failure))
        account.begin(response)
        passed = _to_client(response, self._unit.origin, own)
        if request.method == "HEAD" or response.status_code in (204, 304):
            await response.aclose()
            account.end()
            return _without_body(response.status_code, passed)
        if int(response.headers.get("content-length", MAX_TEXT_BYTES + 1)) <= MAX_TEXT_BYTES:
            return await self._whole(account, response, passed)
        return StreamReply(response.status_code, "", self._pieces(account, response), passed)

    async def _whole(
        self, account: "_ExchangeAccount", response: httpx.Response, headers: Headers
    ) -> Reply:
        try:
            async for part in response.aiter_raw():
                account.add(part)
        except httpx.HTTPError:
            account.cut()
            return problem_reply(
                502, (f"{self._unit.unit} closed the connection in the middle of its answer.")
            )
        finally:
            await response.aclose()
        account.end()
        return Reply(response.status_code, "", bytes(account.beginning), headers)

    def _pieces(
        self, account: "_ExchangeAccount", response: httpx.Response
    ) -> AsyncGenerator[bytes, None]:
        """Start to read the answer, in a task that ends even if the client stops reading."""
        pieces: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING_PIECES)
        task = asyncio.get_running_loop().create_task(_read(account, response, pieces))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
        return _take_pieces(pieces, task, account)


async def _read(
    account: "_ExchangeAccount", response: httpx.Response, pieces: asyncio.Queue[bytes | None]
) -> None:
    try:
        try:
            async for part in response.aiter_raw():
                account.add(part)
                await _hand_over(part, pieces)
            account.end()
        finally:
            await response.aclose()
    except (httpx.HTTPError, TimeoutError):
        account.cut()
    except asyncio.CancelledError:
        account.cut()
        raise
    try:
        await _hand_over(None, pieces)
    except TimeoutError:
        account.is_cut = True
        while not pieces.empty():
            pieces.get_nowait()
        pieces.put_nowait(None)


async def _hand_over(part: bytes | None, pieces: asyncio.Queue[bytes | None]) -> None:
    """Wait until the client has read enough, with a time limit because it may have left."""
    async with asyncio.timeout(CLIENT_S):
        await pieces.put(part)


async def _take_pieces(
    pieces: asyncio.Queue[bytes | None], task: asyncio.Task[None], account: "_ExchangeAccount"
) -> AsyncGenerator[bytes, None]:
    try:
        while (part := await pieces.get()) is not None:
            yield part
        if account.is_cut:
            raise StreamCut("the unit closed the connection in the middle of its answer")
    finally:
        task.cancel()


class _ExchangeAccount:
    """The state of an exchange in progress; reported once, when it is complete."""

    def __init__(self, request: Request, on_exchange: OnExchange) -> None:
        self._request = request
        self._shown = mask_request(
            request.path, request.query, request.headers.get("content-type", ""), request.body
        )
        self._on_exchange = on_exchange
        self._at = datetime.now(UTC)
        self._began = time.monotonic()
        self._response: httpx.Response | None = None
        self._is_over = False
        self._size = 0
        self.beginning = bytearray()
        self.is_cut = False

    def begin(self, response: httpx.Response) -> None:
        self._response = response

    def add(self, part: bytes) -> None:
        self._size += len(part)
        self.beginning += part[: MAX_TEXT_BYTES - len(self.beginning)]

    def end(self) -> None:
        """Report a complete answer."""
        response = self._response
        assert response is not None
        answer = record_answer(
            self._request.path,
            response.status_code,
            response.headers,
            bytes(self.beginning),
            self._shown.hidden,
            size=self._size,
        )
        if self.is_cut and answer.body.left_out != "stream":
            answer = replace(answer, body=RecordedBody(left_out="cut", size=self._size))
        self.close(answer)

    def cut(self) -> None:
        """Report an incomplete answer."""
        if not self._is_over:
            self.is_cut = True
            self.end()

    def close(self, answer: RecordedAnswer) -> None:
        self._is_over = True
        headers, shown = self._request.headers, self._shown
        self._on_exchange(
            Exchange(
                at=self._at,
                took_s=round(time.monotonic() - self._began, 6),
                method=self._request.method,
                path=shown.path,
                query=shown.query,
                answer=answer,
                headers=mask_headers(headers, REQUEST_HEADERS, SECRET_REQUEST_HEADERS),
                body=shown.body,
                masked=shown.is_masked,
            )
        )


def _to_unit(headers: dict[str, str], own: str, unit: str) -> dict[str, str]:
    """Return the client's headers with the name of the unit."""
    passed = {name: value for name, value in headers.items() if name not in HOP_BY_HOP}
    for name in ("origin", "referer"):
        if passed.get(name, "").startswith(own):
            passed[name] = unit + passed[name].removeprefix(own)
    return {**passed, "accept-encoding": "identity"}


def _to_client(response: httpx.Response, unit: str, own: str) -> Headers:
    passed: list[tuple[str, str]] = []
    for raw_name, raw_value in response.headers.raw:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if name.lower() == "location" and value.startswith(unit):
            value = own + value.removeprefix(unit)
        if name.lower() not in HOP_BY_HOP and value.replace("\xa0", " ").isprintable():
            passed.append((name, value))
    return tuple(passed)


def _without_body(status: int, headers: Headers) -> AnyReply:
    if status in (204, 304):
        return Reply(status, "", b"", headers)

    async def nothing() -> AsyncGenerator[bytes, None]:
        return
        yield b""

    # Without a length: the length of the unit's body is not known here.
    return StreamReply(status, "", nothing(), headers)


# `leverframe record`: a proxy on a loopback port that records all exchanges.


class CannotRecord(ErrorForPeople):
    """The recording cannot start or continue; the message is one sentence."""


async def record(unit: str, out: Path, port: int, ca_file: str | None, as_json: bool) -> None:
    """Record what clients exchange with a unit, until SIGTERM or SIGINT."""
    check_port(port)
    async with unit_client(unit, ca_file) as client:
        stop = stop_by_signal()
        recording = Recording(out, stop)
        proxy = Proxy(client, recording.add)
        with bind_errors_for_people(HOST, port):
            await proxy.start(port)
        try:
            # Create the file after the port is open, so that a failed start leaves no file behind,
            # and before any other task runs, so that no exchange is missed.
            recording.file = RecordingFile(out, client.origin)
            _print_address(proxy, client.origin, out, as_json=as_json)
            await stop.wait()
        finally:
            await proxy.stop()
            recording.close()
    _print_progress(recording.file, out, as_json=as_json)


class Recording:
    """The recorded file; an error while writing to it ends the recording."""

    file: RecordingFile | None = None

    def __init__(self, path: Path, stop: asyncio.Event) -> None:
        self._path = path
        self._stop = stop
        self._failure: OSError | None = None

    def add(self, exchange: Exchange) -> None:
        if self._failure is not None or self.file is None:
            return
        try:
            self.file.add(exchange)
        except OSError as error:
            self._failure = error
            self._stop.set()

    def close(self) -> None:
        """Close the file; raise the error that stopped its writing."""
        if self.file is not None:
            self.file.close()
        if self.file is not None and self._failure is not None:
            raise CannotRecord(
                f"{self._path} cannot be written: {self._failure.strerror}; the recording ended"
                f" after {self.file.exchanges} exchanges."
            )


def _print_address(proxy: Proxy, unit: str, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "ready", "url": proxy.url, "unit": unit, "out": str(out)})
    else:
        print_line(
            f"Recording {unit} to {out}. Use {proxy.url} in your client; stop with Ctrl+C",
            flush=True,
        )


def _print_progress(file: RecordingFile, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "stopped", "exchanges": file.exchanges, "masked": file.masked})
    else:
        print_line(f"Exchanges in {out}: {file.exchanges}; with secrets masked: {file.masked}.")
