"""Clients of the API of a node: requests, and refusals as exceptions.

The command line and the twin kit use the network; the kit can also call a node in its own process.
"""

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from leverframe.core.errors import ErrorForPeople
from leverframe.fleet.operations.nodes import ExportedController
from leverframe.fleet.progress import PATHS, PROGRESS, SILENT_NODES, STARTING
from leverframe.host.api_client import NO_ANSWER, ApiClient, Credentials, sign_in_headers
from leverframe.host.maintenance.backup import as_text
from leverframe.host.terminal import ask_secret
from leverframe.interface.descriptions.schemas import FORM

if TYPE_CHECKING:
    from leverframe.fleet.operation import Operation


Reply = TypeVar("Reply")

#: How long a node may take to answer: a request can concern thousands of controllers.
ANSWER_S = 3600.0
#: How long a node may take to start its controllers, and how often it is polled until then.
START_S = 600.0
START_LOOK_S = 1.0
#: How often the progress of a request is polled, and how long a poll may take.
LOOK_S = 0.2
LOOKED_S = 5.0


class NodeRefused(ErrorForPeople):
    """The node refused a request or cannot be reached; the message is one sentence."""

    def __init__(self, sentence: str, status: int | None = None, field: str | None = None) -> None:
        super().__init__(sentence)
        self.field = field
        #: The status of the refusal; None without an answer.
        self.status = status


class NodeAnswer(Struct, frozen=True):
    status: int
    body: bytes
    #: Names of the nodes that share the database but did not answer this node.
    silent: str | None = None
    #: While the node is starting: the number of its controllers that run.
    starting: str | None = None


def print_silent(nodes: str) -> None:
    print(
        f"leverframe: incomplete result, no answer from: {nodes}",
        file=sys.stderr,
    )


def print_starting(counted: str) -> None:
    print(f"leverframe: the node is starting: {counted} controllers run", file=sys.stderr)


class NodeAsking(ABC):
    """Sends requests to one node; subclasses define the transport."""

    def __init__(
        self,
        url: str,
        when_silent: Callable[[str], None] = print_silent,
        when_starting: Callable[[str], None] = print_starting,
    ) -> None:
        self.url = url
        self._when_silent = when_silent
        self._when_starting = when_starting

    @abstractmethod
    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> NodeAnswer:
        """Send a request; raise NodeRefused if there is no answer."""

    def carry_out(
        self,
        operation: "Operation[Reply]",
        parameters: Mapping[str, Any],
        body: bytes | None = None,
    ) -> Reply:
        """Let the node run an operation; return its report, converted to the declared type."""
        answer = self._ask(operation.methods[0], operation.path, parameters, body)
        report: Reply = msgspec.convert(answer, operation.reply)
        return report

    def get(self, what: str, parameters: Mapping[str, Any]) -> Any:
        return self._ask("GET", what, parameters, None)

    def post(self, what: str, parameters: Mapping[str, Any], body: bytes | None = None) -> Any:
        return self._ask("POST", what, parameters, body)

    def _ask(
        self, method: str, what: str, parameters: Mapping[str, Any], body: bytes | None
    ) -> Any:
        query = "&".join(
            f"{name}={quote(_text(value), safe='')}"
            for name, value in parameters.items()
            # A 0 must be sent explicitly.
            if value is not False and value not in (None, [], "")
        )
        headers: dict[str, str] = {}
        target = what if what.startswith("/") else f"{PATHS}/{what}".rstrip("/")
        if method == "POST" and body is None:
            # Thousands of names do not fit into a query.
            body, headers = query.encode(), {"Content-Type": FORM}
        elif query:
            target += f"?{query}"
        answer = self._send_until_ready(method, target, body, headers)
        try:
            content = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise NodeRefused(
                f"{self.url} is not a node: its answer has another format.", answer.status
            ) from None
        # The state of a node that is not ready is an answer, despite its error status.
        if answer.status >= 400 and "detail" in content:
            raise NodeRefused(f"{content['detail']}", answer.status, content.get("field"))
        if answer.silent:
            self._when_silent(answer.silent)
        return content

    def _send_until_ready(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> NodeAnswer:
        """Send a request; retry while the node refuses it because it is still starting."""
        until, counted = time.monotonic() + START_S, None
        while True:
            answer = self._exchange(method, target, body, headers)
            if answer.starting is None or time.monotonic() >= until:
                return answer
            if answer.starting != counted:
                counted = answer.starting
                self._when_starting(counted)
            time.sleep(START_LOOK_S)


class NodeClient(NodeAsking):
    """Sends requests to a node over the network, with an account if there is one."""

    #: The advice that an error message ends with if the node does not answer.
    advice = "Start a node with `leverframe fleet run`, and use the address that it prints."

    def __init__(
        self,
        url: str,
        account: Credentials | None = None,
        ca_file: str | None = None,
        when_silent: Callable[[str], None] = print_silent,
        answer_s: float = ANSWER_S,
        when_starting: Callable[[str], None] = print_starting,
    ) -> None:
        where = (url if "://" in url else f"http://{url}").rstrip("/")
        super().__init__(where, when_silent, when_starting)
        parts = urlsplit(self.url)
        try:
            parts.port  # noqa: B018 - it may be none
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NodeRefused(
                f"{url!r} is not the address of a node. Write it like http://127.0.0.1:8080."
            )
        self._account: Credentials | None = None
        self._headers: dict[str, str] = {}
        if account is not None:
            self._sign_in(account)
        self._ca_file = ca_file
        self._api = ApiClient(self.url, ca_file, answer_s, keeps=True)

    def _sign_in(self, account: Credentials) -> None:
        self._account, self._headers = account, sign_in_headers(account)

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> NodeAnswer:
        try:
            reply = self._api.request(method, target, body, {**self._headers, **headers})
        except NO_ANSWER as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise NodeRefused(f"{self.url} does not answer: {why}. {self.advice}") from error
        named = reply.headers
        return NodeAnswer(reply.status, reply.body, named.get(SILENT_NODES), named.get(STARTING))

    @contextmanager
    def follow_progress(self, on_progress: Callable[[int, int], None]) -> Iterator[None]:
        """Call `on_progress` at intervals with the number of controllers processed and the total.

        The progress is polled over a separate connection, as long as the node knows the request.
        """
        id, ended = token_hex(8), threading.Event()

        def look() -> None:
            with closing(self._another()) as other:
                while not ended.wait(LOOK_S):
                    try:
                        content = other.get("progress", {"id": id})
                    except NodeRefused:
                        # The node does not know the request yet, or no longer; the request reports
                        # its own errors.
                        continue
                    on_progress(content["done"], content["of"])

        watcher = threading.Thread(target=look, name="progress", daemon=True)
        self._headers[PROGRESS] = id
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
            del self._headers[PROGRESS]

    def _another(self) -> "NodeClient":
        return NodeClient(self.url, self._account, self._ca_file, answer_s=LOOKED_S)

    def close(self) -> None:
        self._api.close()


class CommandLineClient(NodeClient):
    """Sends requests to a node for the command line, and names the options that help.

    It prompts for the password only before the first request: by then, mistakes in the command have
    been reported.
    """

    advice = "Start a node with `leverframe fleet run`, or set its address with --node."

    def __init__(self, url: str, user: str | None, ca_file: str | None) -> None:
        # A node that is silent during several requests of a command is named only once.
        super().__init__(url, None, ca_file, cache(print_silent))
        self._user = user

    def _sign_in_once(self) -> None:
        if self._user is not None and self._account is None:
            self._sign_in((self._user, ask_secret(f"Password of {self._user}")))

    @contextmanager
    def follow_progress(self, on_progress: Callable[[int, int], None]) -> Iterator[None]:
        self._sign_in_once()
        with super().follow_progress(on_progress):
            yield

    def _ask(
        self, method: str, what: str, parameters: Mapping[str, Any], body: bytes | None
    ) -> Any:
        self._sign_in_once()
        try:
            return super()._ask(method, what, parameters, body)
        except NodeRefused as refused:
            if refused.status != HTTPStatus.UNAUTHORIZED or self._account is not None:
                raise
            raise NodeRefused(f"{refused} Sign in with --user NAME.", refused.status) from None


def _text(value: Any) -> str:
    if value is True:
        return "1"
    return ",".join(value) if isinstance(value, list) else str(value)


# Exported controllers as files: a fleet file, and a settings file for each controller.

FLEET_FILE = "fleet.toml"


def write_export(
    folder: Path,
    found: Sequence[ExportedController],
    wrote: Callable[[int], None] = lambda _: None,
) -> dict[str, Path]:
    """Write controllers into a new folder; return the settings file of each by its name.

    `wrote` is called with the number of controllers written since its last call.
    """
    folder.mkdir(parents=True)
    tenants = sorted({one.record.tenant for one in found if one.record.tenant})
    lines = [f"tenants = {msgspec.json.encode(tenants).decode()}", ""] if tenants else []
    files: dict[str, Path] = {}
    for one in found:
        record = msgspec.to_builtins(one.record)
        file = folder / f"{one.record.name}.toml"
        file.write_text(as_text(one.settings, ".toml"), encoding="utf-8")
        files[one.record.name] = file
        lines += ["[[controllers]]"]
        for key, value in {**record, "settings": file.name}.items():
            lines.append(f"{key} = {msgspec.json.encode(value).decode()}")
        lines.append("")
        wrote(1)
    (folder / FLEET_FILE).write_text("\n".join(lines), encoding="utf-8")
    return files
