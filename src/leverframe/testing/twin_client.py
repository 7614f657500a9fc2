"""The client of a twin, which raises refusals as errors, and the transport of twins by HTTP."""

import string
import time
from abc import abstractmethod
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from leverframe.devices.simulated.fault_catalogue import Fault, time_unreachable_s
from leverframe.host.api_client import NO_ANSWER, ApiClient, ApiReply, Credentials, sign_in_headers
from leverframe.host.controller.snapshot import BadSnapshot
from leverframe.server.http.request_journal import BENCH_HEADER
from leverframe.testing.transport import Transport, TwinRefused, TwinSnapshot

#: Time limit of an answer of a twin, in real seconds.
ANSWER_S = 30.0
#: The pause before another attempt to reach a twin that is off.
TRY_AGAIN_S = 0.05
#: Characters that a command may contain unencoded; the others are percent-encoded.
_SAFE = "".join(set(string.punctuation) - set('"<>#'))


def fetch_text(
    url: str,
    path: str,
    account: Credentials | None,
    ca_file: str | None,
    door: str | None = None,
) -> str:
    """Return the text at a path; raise `TwinRefused` if the request is refused.

    With a `door`, connect there and request the host of `url`.
    """
    headers = {"Host": urlsplit(url).netloc, **sign_in_headers(account)}
    client = ApiClient(door or url, ca_file, ANSWER_S)
    reply = client.request("GET", "/" + path.lstrip("/"), headers=headers)
    return check_reply(reply.status, reply.body, path).decode()


def check_reply(status: int, body: bytes, command: str) -> bytes:
    """Return the body of a reply; raise `TwinRefused` if it is a refusal."""
    if status < 400:
        return body
    try:
        problem = msgspec.json.decode(body)
        sentence, title = problem["detail"], problem["title"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        sentence, title = body.decode(errors="replace"), ""
    raise TwinRefused(status, sentence, _without_secrets(command), title)


def _without_secrets(command: str) -> str:
    # Imported here: only a refusal needs it.
    from leverframe.interface.table.command_text import mask_query

    path, mark, query = command.partition("?")
    return f"/{path.lstrip('/')}{mark}{mask_query(query)[0]}"


class HttpTransport(Transport):
    """A controller at a URL; a test operates it by requests to its test bench."""

    #: None while it is off.
    client: ApiClient | None = None
    #: The snapshot that `reset` restores; None before the start.
    first: str | None = None

    @property
    def keeper(self) -> str:
        return self.url

    @abstractmethod
    def new_label(self) -> str:
        """Return a label for a new snapshot."""

    @abstractmethod
    def may_repeat(self, target: str, method: str, error: Exception) -> bool:
        """Return whether to repeat a request that failed because a fault keeps the twin off."""

    @property
    def is_on(self) -> bool:
        return not (self.client is None or self.client.is_closed)

    def operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        deadline = time.monotonic() + ANSWER_S
        while True:
            try:
                reply = self.ask(target, method, body)
                break
            except NO_ANSWER as error:
                # A fault has switched the twin off; in a process, the fault ends in real time.
                if not self.may_repeat(target, method, error) or time.monotonic() > deadline:
                    raise
                time.sleep(TRY_AGAIN_S)
        return check_reply(reply.status, reply.body, target)

    def ask(
        self, target: str, method: str = "GET", body: bytes = b"", *, answer_s: float = ANSWER_S
    ) -> ApiReply:
        if self.client is None:
            raise RuntimeError("The twin is off; start it with `with`, or with start().")
        headers = {
            BENCH_HEADER: "1",
            "Host": urlsplit(self.url).netloc,
            **sign_in_headers(self.account),
        }
        target = quote(target, safe=_SAFE)
        return self.client.request(method, target, body or None, headers, timeout_s=answer_s)

    def snapshot(self) -> TwinSnapshot:
        label = self.new_label()
        self.operate(f"/api/sim/snapshots?take={label}", "POST")
        return TwinSnapshot(label, self.encode_snapshot, self.keeper)

    def encode_snapshot(self, label: str | None = None) -> bytes:
        """Return the file of the snapshot with a label, or of the present state."""
        try:
            return self.operate("/api/sim/snapshot" + (f"?name={label}" if label else ""))
        except TwinRefused as refused:
            raise BadSnapshot(refused.sentence) from None

    def go_back(self, state: Any) -> None:
        self.operate(f"/api/sim/snapshots?restore={state}", "POST")

    def reset(self) -> None:
        if self.first is None:
            raise RuntimeError(
                "The twin was not started here, so it cannot be reset; start it with `with`, or"
                " with start()."
            )
        self.go_back(self.first)
        self.operate("/sim.cgi?requests=clear")

    def set_fault(self, fault: Fault) -> int:
        # Read this first: with the fault, the twin may be off and unable to answer.
        number: int = self.json("/api/sim")["faults"]["next"]
        try:
            # In the body, because the reply that a fault contains may be too long for a query.
            self.operate("/sim.cgi", "POST", f"fault={quote(fault.text, safe='')}".encode())
        except NO_ANSWER:
            # A fault that switches it off prevents even the answer to this request.
            if time_unreachable_s(fault) is None:
                raise
        return number
