"""A client of a twin: one request by the network, and what a refusal is to a test."""

import http.client
import ssl
from base64 import b64encode
from urllib.parse import urlsplit

import msgspec

from leverframe.errors import ErrorForPeople

#: How long a client waits for an answer of a twin, in real seconds.
ANSWER_S = 30.0


class TwinRefused(ErrorForPeople):
    """The twin refused a request: which one, with which status, and why."""

    def __init__(self, status: int, sentence: str, command: str, title: str = "") -> None:
        super().__init__(f"{command} was refused with {status}: {sentence}")
        #: The status of the answer.
        self.status = status
        #: Why, in a sentence of the twin.
        self.sentence = sentence
        #: What was refused, such as `/outs.cgi?out9=1`; what may be a secret reads `***`.
        self.command = command
        #: The title of the problem, which is the same for all refusals of one kind.
        self.title = title


def fetched(
    url: str,
    path: str,
    account: tuple[str, str] | None,
    ca_file: str | None,
    door: str | None = None,
) -> str:
    """Return the text at a path; raise `TwinRefused` where it is refused.

    With a `door` that is where the connection goes, and the host of `url` is asked for there.
    """
    parts = urlsplit(door or url)
    headers = {"Host": urlsplit(url).netloc, **_signed(account)}
    host, port = parts.hostname or "", parts.port or 0
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=ca_file)
        connection = http.client.HTTPSConnection(host, port, timeout=ANSWER_S, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/" + path.lstrip("/"), headers=headers)
        reply = connection.getresponse()
        text = reply.read()
    finally:
        connection.close()
    return checked(reply.status, text, path).decode()


def checked(status: int, body: bytes, command: str) -> bytes:
    """Return the body of a reply; raise `TwinRefused` where it is a refusal."""
    if status < 400:
        return body
    try:
        problem = msgspec.json.decode(body)
        sentence, title = problem["detail"], problem["title"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        sentence, title = body.decode(errors="replace"), ""
    raise TwinRefused(status, sentence, _without_secrets(command), title)


def _without_secrets(command: str) -> str:
    # Imported here: what is accepted names nothing.
    from leverframe.commands.table.masked_query import masked_items

    path, mark, query = command.partition("?")
    return f"/{path.lstrip('/')}{mark}{masked_items(query)[0]}"


def _signed(account: tuple[str, str] | None) -> dict[str, str]:
    if account is None:
        return {}
    token = b64encode(":".join(account).encode()).decode()
    return {"Authorization": f"Basic {token}"}
