"""A client of a twin: one request by the network, and what a refusal is to a test."""

from urllib.parse import urlsplit

import msgspec

from leverframe.errors import ErrorForPeople
from leverframe.process.api_client import ApiClient, Credentials, signed

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
    account: Credentials | None,
    ca_file: str | None,
    door: str | None = None,
) -> str:
    """Return the text at a path; raise `TwinRefused` where it is refused.

    With a `door` that is where the connection goes, and the host of `url` is asked for there.
    """
    headers = {"Host": urlsplit(url).netloc, **signed(account)}
    client = ApiClient(door or url, ca_file, ANSWER_S)
    reply = client.request("GET", "/" + path.lstrip("/"), headers=headers)
    return checked(reply.status, reply.body, path).decode()


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
