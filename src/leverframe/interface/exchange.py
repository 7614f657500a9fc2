"""An exchange (a request and its answer), and recordings: a head line, then one line per exchange.

Each line is complete JSON, so that a recording can be read even if the recorder was killed; an
incomplete last line is skipped.
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import unquote, unquote_plus

import msgspec
from msgspec import Meta, Struct

from leverframe.core.errors import ErrorForPeople
from leverframe.core.tree import MASK, is_confidential
from leverframe.interface.table.bodies import Upload
from leverframe.interface.table.command_text import mask_query, names_secret
from leverframe.interface.table.lookup import TABLE

#: Identifies the format in the first line of every recording.
FORMAT = "leverframe recording 1"
#: Longer bodies are not recorded.
MAX_TEXT_BYTES = 256 * 1024
#: The longest line: JSON can encode one byte of the body as six characters.
MAX_LINE_BYTES = 16 * MAX_TEXT_BYTES

#: Why a body is not in the recording.
LeftOut = Literal["", "secret", "file", "large", "stream", "cut"]


class NoRecording(ErrorForPeople):
    """The file is not a recording, or has an invalid line; the message is one sentence."""


class RecordedBody(Struct, frozen=True, omit_defaults=True):
    """A body as text, or the reason why it was omitted."""

    text: str = ""
    left_out: LeftOut = ""
    #: The original length of an omitted body.
    size: int = 0
    encoding: Literal["utf-8", "latin-1"] = "utf-8"

    def content(self) -> bytes:
        return self.text.encode(self.encoding)


NO_BODY = RecordedBody()


class RecordedAnswer(Struct, frozen=True, omit_defaults=True):
    """A unit's answer; status 0 means that there was none, and `problem` gives the reason."""

    status: int
    headers: dict[str, str] = {}
    body: RecordedBody = NO_BODY
    problem: str = ""


class Exchange(Struct, frozen=True, omit_defaults=True):
    at: Annotated[datetime, Meta(tz=True)]
    took_s: float
    method: str
    path: str
    #: As it was sent, percent-encoded; None if there was no `?`.
    query: str | None
    answer: RecordedAnswer
    headers: dict[str, str] = {}
    body: RecordedBody = NO_BODY
    #: A secret was removed from the path, query or body, so the request cannot be sent again.
    masked: bool = False

    @property
    def target(self) -> str:
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def request(self) -> str:
        """The request in its usual notation."""
        return f"{self.method} {self.target}"


class RecordingHead(Struct, frozen=True):
    format: str
    unit: str
    began: datetime


def line_of(part: Exchange | RecordingHead) -> bytes:
    return msgspec.json.encode(part) + b"\n"


def head_in(line: bytes, name: str) -> RecordingHead:
    """Return the first line of a recording; reject a file that is not a recording."""
    try:
        head = msgspec.json.decode(line, type=RecordingHead)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        head = None
    if head is None or head.format != FORMAT:
        raise NoRecording(
            f"{name} is not a recording; create one with `leverframe record`."
        ) from None
    return head


def exchanges_in(lines: Iterable[bytes], name: str) -> Iterator[Exchange]:
    """Yield the exchanges of a recording after its first line; reject a damaged line."""
    for number, line in enumerate(lines, start=2):
        if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            # The recorder was killed while it wrote this line.
            return
        try:
            yield msgspec.json.decode(line, type=Exchange)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NoRecording(
                f"Line {number} of {name} is not an exchange ({error}); remove the line, or "
                "record again."
            ) from None


# Secrets that must not be recorded: passwords, logins, cookies, tokens, addresses of web hooks.
#
# The command table says which commands contain a secret. A query with such a command is omitted
# completely, because a secret with an unencoded `&` in it continues in the next item. Status files
# and settings are masked by their keys. Content that cannot be parsed, such as a backup, is
# omitted.

JSON_TYPES = ("application/json", "application/problem+json")
FORM_TYPE = "application/x-www-form-urlencoded"
EVENT_STREAM = "text/event-stream"

#: Headers that affect a unit, or help the reader of a recording.
REQUEST_HEADERS = ("accept", "content-type", "if-none-match", "range", "user-agent")
ANSWER_HEADERS = ("allow", "content-disposition", "content-type", "retry-after")
#: Only the presence of these headers is recorded.
SECRET_REQUEST_HEADERS = ("authorization", "backup-passphrase", "cookie")
SECRET_ANSWER_HEADERS = ("set-cookie",)
#: Names of other headers in which clients send logins and keys.
_SECRET_HEADER = re.compile(r"auth|session|key|passphrase|signature|csrf", re.IGNORECASE)

#: Paths of files that contain all settings.
_BACKUP_PATHS = frozenset(row.form.path for row in TABLE if not row.form.items)
_BODY_PATH = "/post.cgi"
#: Commands whose body is a list or form without secrets.
_OPEN_BODIES = frozenset(
    row.form.items[0].text
    for row in TABLE
    if row.body is not None and not row.secret and not isinstance(row.body, Upload)
)
#: After this prefix, the path contains the key of a session.
_SESSION_KEY = re.compile(r"(/site-session/)[^/]+")
_TEXT_OF_TAG = re.compile(r"<(\w+)>([^<]+)</\1>")
#: A key with its text, to find secrets in scripts and in invalid JSON.
_PAIR = re.compile(r'("(\w+)"\s*:\s*)"(?:[^"\\]|\\.)*"')
_INPUT_TAG = re.compile(r"<input\b[^>]*>", re.IGNORECASE)
_VALUE_OF_INPUT = re.compile(r"""(\bvalue\s*=\s*)("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: Shorter secrets would match in many answers by chance.
MIN_ECHO_LETTERS = 4


class MaskedRequest(Struct, frozen=True):
    path: str
    query: str | None
    body: RecordedBody
    #: Whether a part of the request was omitted.
    is_masked: bool
    #: The omitted parts in all encodings; they must also be removed from the answer.
    hidden: frozenset[str]


def mask_request(path: str, query: str | None, content_type: str, body: bytes) -> MaskedRequest:
    """Return the part of a request that may be recorded."""
    open_path, in_path = _mask_path(path)
    open_query, in_query = (None, []) if query is None else mask_query(query)
    open_body, in_body = _mask_request_body(path, query, content_type, body)
    hidden = [*in_path, *in_query, *in_body]
    is_masked = bool(hidden) or bool(open_body.left_out)
    spellings = frozenset(
        spelling
        for text in hidden
        for spelling in _spellings(text)
        if len(spelling) >= MIN_ECHO_LETTERS
    )
    return MaskedRequest(open_path, open_query, open_body, is_masked, spellings)


def mask_answer(
    path: str,
    content_type: str,
    body: bytes,
    hidden: Iterable[str] = (),
    *,
    size: int | None = None,
) -> RecordedBody:
    """Return the part of an answer to record; `size` is its length if `body` is only a part."""
    size = len(body) if size is None else size
    if path in _BACKUP_PATHS:
        return _omit_body("secret", size)
    kind = media_type(content_type)
    if kind == EVENT_STREAM:
        return _omit_body("stream", size)
    if size > min(len(body), MAX_TEXT_BYTES):
        return _omit_body("large", size)
    read = _as_text(body, kind)
    if read is None:
        return _omit_body("file", size)
    text = _mask_text(read.text, kind)
    if any(secret in text for secret in hidden):
        return _omit_body("secret", size)
    return RecordedBody(text, encoding=read.encoding)


def record_answer(
    path: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    hidden: Iterable[str],
    *,
    size: int,
) -> RecordedAnswer:
    """Return an answer in its recorded form."""
    kept = mask_headers(headers, ANSWER_HEADERS, SECRET_ANSWER_HEADERS)
    if "location" in headers:
        kept["location"] = mask_address(headers["location"])
    shown = mask_answer(path, headers.get("content-type", ""), body, hidden, size=size)
    return RecordedAnswer(status, kept, shown)


def mask_headers(
    headers: Mapping[str, str], names: Iterable[str], secret: Iterable[str]
) -> dict[str, str]:
    """Return the headers to record, by lower-case names."""
    found = {name: headers[name] for name in names if name in headers}
    return found | {name: MASK for name in secret if name in headers}


def without_secret_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return all headers, with values masked that are or may contain a secret."""
    return {
        name: MASK if _is_secret_header(name) else _open_value(name, value)
        for name, value in headers.items()
    }


def _is_secret_header(name: str) -> bool:
    return _SECRET_HEADER.search(name) is not None or names_secret(name.replace("-", "_"))


def _open_value(name: str, value: str) -> str:
    return mask_address(value) if name in ("location", "referer") else value


def mask_address(address: str) -> str:
    """Return the target of a redirect without its secrets."""
    place, mark, query = address.partition("?")
    begin, slashes, rest = place.rpartition("://")
    path, _ = _mask_path(rest)
    return begin + slashes + path + mark + (mask_query(query)[0] if mark else "")


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _omit_body(why: LeftOut, size: int) -> RecordedBody:
    return RecordedBody(left_out=why, size=size)


def _mask_path(path: str) -> tuple[str, list[str]]:
    """Mask the key of a session, and a query that was encoded into the path by mistake."""
    key = _SESSION_KEY.match(path)
    path = _SESSION_KEY.sub(rf"\1{MASK}", path)
    hidden = [key[0].rpartition("/")[2]] if key else []
    mistaken = re.search(r"%3[fF]|=|%3[dD]", path)
    if mistaken is None:
        return path, hidden
    return path[: mistaken.start()] + MASK, [*hidden, path[mistaken.start() :]]


def _mask_request_body(
    path: str, query: str | None, content_type: str, body: bytes
) -> tuple[RecordedBody, list[str]]:
    kind = media_type(content_type)
    if not body:
        return NO_BODY, []
    text = None if len(body) > MAX_TEXT_BYTES else _as_text(body, kind)
    if text is None:
        return _omit_body("file" if len(body) <= MAX_TEXT_BYTES else "large", len(body)), []
    if path == _BODY_PATH:
        if query in _OPEN_BODIES:
            return text, []
        return _omit_body("secret", len(body)), text.text.split("&")
    if kind in JSON_TYPES:
        shown = _mask_json(text.text)
        if shown is None:
            return _omit_body("secret", len(body)), [text.text]
        return RecordedBody(shown), list(_strings(text.text) - _strings(shown))
    if kind in (FORM_TYPE, "", "text/plain"):
        shown, hidden = mask_query(text.text.strip())
        return RecordedBody(shown) if hidden else text, hidden
    return _omit_body("file", len(body)), []


def _as_text(body: bytes, kind: str) -> RecordedBody | None:
    """Return a body as text; None if it is not text, such as a picture."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        is_text = kind.startswith("text/") or kind.endswith(("json", "xml"))
        return RecordedBody(body.decode("latin-1"), encoding="latin-1") if is_text else None
    return None if _CONTROL_CHARACTER.search(text) else RecordedBody(text)


def _mask_text(text: str, kind: str) -> str:
    if kind in JSON_TYPES or text[:1] in ("{", "["):
        shown = _mask_json(text)
        if shown is not None:
            return shown
    if kind == "text/html":
        return _INPUT_TAG.sub(_mask_input, text)
    return _PAIR.sub(_mask_pair, _TEXT_OF_TAG.sub(_mask_tag, text))


def _mask_pair(pair: re.Match[str]) -> str:
    return f'{pair[1]}"{MASK}"' if names_secret(pair[2]) else pair[0]


def _mask_tag(tag: re.Match[str]) -> str:
    name = tag[1]
    return f"<{name}>{MASK}</{name}>" if names_secret(name) else tag[0]


def _mask_input(tag: re.Match[str]) -> str:
    return _VALUE_OF_INPUT.sub(rf'\1"{MASK}"', tag[0]) if names_secret(tag[0]) else tag[0]


def _mask_json(text: str) -> str | None:
    """Return a document with its secrets masked; None if it is not a document."""
    try:
        document = msgspec.json.decode(text)
        shown = _mask_value(document, "")
        return text if shown == document else msgspec.json.encode(shown).decode()
    except (msgspec.DecodeError, RecursionError):
        return None


def _mask_value(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        # The record of a request of HTTP1-HTTP4; anyone who knows its address can send it, too.
        is_call = isinstance(value.get("url"), str) and "method" in value
        return {
            name: _open_url(one) if is_call and name == "url"
            else MASK if is_call and name == "body" and one
            else _mask_member(one, f"{path}.{name}" if path else name)
            for name, one in value.items()
        }  # fmt: skip
    if isinstance(value, list):
        return [_mask_value(one, f"{path}.{place}") for place, one in enumerate(value)]
    return value


def _mask_member(value: Any, path: str) -> Any:
    name = path.rpartition(".")[2]
    is_secret = is_confidential(path.removeprefix("settings.")) or names_secret(name)
    if isinstance(value, str) and value and is_secret:
        return MASK
    if path.startswith("sms.received.") and name == "text":
        # A received SMS begins with the code for commands, which is a secret.
        return MASK
    return _mask_value(value, path)


def _open_url(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    host, slash, _ = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{MASK if slash else ''}"


def _strings(text: str) -> set[str]:
    """Return the texts in a JSON document."""
    found: set[str] = set()
    waiting = [msgspec.json.decode(text)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
    return found


def _spellings(hidden: str) -> Iterator[str]:
    """Yield the parts of a masked item in all encodings in which an answer may repeat them."""
    value = hidden.partition("=")[2] or hidden
    for text in {value, unquote(value), unquote_plus(value)}:
        yield text
        for part in text.split("*"):
            yield part
            try:
                yield b64decode(part, validate=True).decode()
            except (NotBase64, ValueError):
                continue
