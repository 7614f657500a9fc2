"""The three kinds of POST body: list items, form fields, an uploaded file.

List bodies are read up to `&&`, because clients of real units send other text around the list. The
text before the first `&` belongs to the list only if it begins with the name of an item. The
complete body is checked before any of it is staged.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from msgspec import Struct

from leverframe.core.errors import BadUpload
from leverframe.core.profile import Profile
from leverframe.interface.table.params import (
    Param,
    item_of_version,
    optional_fields,
    parse_fields,
    split_fields,
)
from leverframe.interface.table.refusals import BadValue, Malformed, Refusal
from leverframe.interface.table.shape import Item

# A file in a form: `multipart/form-data`, as browsers and `curl -F file=@NAME` send it.
#
# The form must have a single part, which is the file, whatever the name of the part. A form with
# several parts is rejected, because all but one would be lost. Boundaries are matched exactly as
# RFC 2046 defines them; anything else is rejected, because a wrong guess would produce a damaged
# file.

MEDIA_TYPE = "multipart/form-data"
MAX_HEADER_BYTES = 8 << 10
_MAX_PADDING = 64
_LINE_END, _HEADER_END = b"\r\n", b"\r\n\r\n"
_ADVICE = "send it as curl -F file=@NAME does, or the file itself as the body"
#: The characters that RFC 2046 allows; the last one cannot be a space.
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]", re.ASCII)
_PARAMETER = re.compile(r';\s*([A-Za-z0-9*!#$%&\'+.^_`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s"]*)\s*')
#: Transfer encodings that leave the content of a part unchanged.
_AS_IT_IS = ("", "binary", "8bit", "7bit")


class _Part(NamedTuple):
    headers: dict[str, str]
    content: bytes
    #: The bytes after the delimiter that follows the content.
    rest: bytes


def read_upload(body: bytes, content_type: str) -> bytes:
    """Return the file in a request: its body, or the only part of its form."""
    if _media_type(content_type) != MEDIA_TYPE:
        return body
    delimiter = b"--" + _boundary(content_type)
    if not body.startswith(delimiter):
        _refuse("it does not begin with the boundary that its Content-Type names")
    part = _first_part(body[len(delimiter) :], _LINE_END + delimiter)
    if not part.rest.startswith(b"--"):
        _refuse("it has several parts, and only one file is accepted")
    if part.rest[2:].strip():
        _refuse("there is data after its end")
    _check_part(part.headers)
    return part.content


def _first_part(body: bytes, delimiter: bytes) -> _Part:
    """Parse the part after the first boundary."""
    if body.startswith(b"--"):
        _refuse("it contains no file")
    start = _after_line(body)
    header_end = body.find(_HEADER_END, start, start + MAX_HEADER_BYTES)
    if header_end < 0:
        _refuse("the headers of its file have no end, or are too long")
    content_start = header_end + len(_HEADER_END)
    content_end = body.find(delimiter, content_start)
    if content_end < 0:
        _refuse("it is cut short: its closing boundary is missing")
    rest = body[content_end + len(delimiter) :]
    if not rest.startswith(b"--"):
        # A boundary is followed only by spaces and a line break; otherwise it is content.
        _after_line(rest)
    headers = _headers(body[start:header_end])
    return _Part(headers, body[content_start:content_end], rest)


def _after_line(text: bytes) -> int:
    """Return the start of the line after a boundary, which spaces may follow."""
    end = text.find(_LINE_END, 0, _MAX_PADDING)
    if end < 0 or text[:end].strip(b" \t"):
        _refuse("a boundary in it is not followed by a line end")
    return end + len(_LINE_END)


def _headers(text: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in text.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or not name or name.lower() in headers:
            _refuse("a header of its file cannot be read")
        headers[name.lower()] = value.strip()
    return headers


def _check_part(headers: dict[str, str]) -> None:
    if _media_type(headers.get("content-disposition", "")) != "form-data":
        _refuse("its part is not a form field")
    if headers.get("content-transfer-encoding", "").lower() not in _AS_IT_IS:
        _refuse("its file is encoded for mail; send it as it is")
    if _media_type(headers.get("content-type", "")).startswith("multipart/"):
        _refuse("its part contains several files, and only one is accepted")


def _boundary(content_type: str) -> bytes:
    parameters = content_type[len(content_type.partition(";")[0]) :]
    found = [value for name, value in _PARAMETER.findall(parameters) if name.lower() == "boundary"]
    boundary = found[0].strip('"') if len(found) == 1 else ""
    if not _BOUNDARY.fullmatch(boundary):
        _refuse("its Content-Type names no boundary")
    return boundary.encode()


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _refuse(why: str) -> NoReturn:
    raise BadUpload(f"The form cannot be read: {why}; {_ADVICE}.")


LIST_BODY_LIMIT = 1 << 20
#: The limit for clients that have not signed in; their requests have a separate memory budget.
SMALL_BODY_LIMIT = 8 << 10
#: Larger bodies are checked in a thread; the lists and forms of our own pages are smaller.
ON_LOOP_BODY_LIMIT = 32 << 10
UPLOAD_LIMIT = 16 << 20


_PERCENT_ENCODED = {byte: f"%{byte:02X}" for byte in range(0x80, 0x100)}


def _ascii(body: bytes) -> str:
    """Decode the body to raw text; bytes beyond ASCII become percent-encoded."""
    return body.decode("latin-1").translate(_PERCENT_ENCODED)


class ListBody(Struct, frozen=True):
    """Items such as `&m<A><B>=<C>*<D>`, ended by `&&`; its value is one dict of fields per item."""

    item: Item
    params: Mapping[str, Param]
    #: The number of places for items.
    max_items: int
    max_bytes: int = LIST_BODY_LIMIT

    def read(self, body: bytes, content_type: str, profile: Profile) -> list[dict[str, Any]]:
        items = [item for item in self._items(_ascii(body), profile) if item]
        return [self._fields(item, place, profile) for place, item in enumerate(items, start=1)]

    def _items(self, text: str, profile: Profile) -> list[str]:
        within, end, _ = text.partition("&&")
        if not end:
            printed = item_of_version(self.item, self.params, profile).text
            raise Malformed(
                f"The body is not a list of &{printed} items that ends with &&.",
                allowed=f"&{printed}...&&",
            )
        if (count := within.count("&")) > self.max_items:
            raise Malformed(f"The list has {count} items.", allowed=f"up to {self.max_items} items")
        first, *others = within.split("&")
        first = first.strip()
        is_item = self.item.match_name(first.partition("=")[0]) is not None
        return [first, *others] if is_item else others

    def _fields(self, text: str, place: int, profile: Profile) -> dict[str, Any]:
        name, _, value = text.partition("=")
        texts = self.item.match_name(name)
        if texts is None:
            # If the list contains passwords, this may be the end of a password with an unencoded
            # `&`.
            raise Malformed(
                f"{text[:60]!r} is not an item of this list.",
                command=text[:120],
                allowed=item_of_version(self.item, self.params, profile).text,
                discreet=f"Item {place} of the list is not valid.",
            )
        seen: dict[str, Any] = {}
        try:
            optional = optional_fields(self.params)
            texts |= split_fields(self.item, value, self.params, profile, optional)
            parse_fields(self.item.holes, self.params, texts, profile, seen)
        except Refusal as refusal:
            raise refusal.of(text[:120]) from None
        return seen

    def write(self, items: list[Mapping[str, str]]) -> bytes:
        return "".join(f"&{self.item.write(texts)}" for texts in items).encode() + b"&&"

    def describe(self, profile: Profile) -> dict[str, Any]:
        return {
            "kind": "list",
            "item": self.item.text,
            "fields": {letter: param.schema(profile) for letter, param in self.params.items()},
        }


class FormBody(Struct, frozen=True):
    """`application/x-www-form-urlencoded` fields with known names, in any order."""

    fields: Mapping[str, Param]
    max_bytes: int = LIST_BODY_LIMIT
    #: Whether every field is required.
    whole: bool = False

    def read(self, body: bytes, content_type: str, profile: Profile) -> dict[str, Any]:
        kind = content_type.partition(";")[0].strip().lower()
        if kind not in ("", "application/x-www-form-urlencoded"):
            raise UnsupportedBody(
                f"The body is {kind}.", allowed="application/x-www-form-urlencoded"
            )
        values: dict[str, Any] = {}
        for pair in _ascii(body).split("&"):
            name, _, raw = pair.partition("=")
            param = self.fields.get(name)
            if param is None:
                # If the form contains a password, the name may be the end of a password with an
                # unencoded `&`.
                raise BadValue(
                    f"{name[:40]!r} is not a field of this form.",
                    field=name[:40],
                    allowed=", ".join(self.fields),
                    discreet="The form has an unknown field.",
                )
            if name in values:
                raise BadValue(
                    f"The field {name} appears twice.", field=name, allowed="each field once"
                )
            try:
                values[name] = param.parse(raw, profile, values)
            except Refusal as refusal:
                raise refusal.of("", name) from None
        if self.whole and (missing := [name for name in self.fields if name not in values]):
            raise BadValue(
                f"The field {missing[0]} is missing.",
                field=missing[0],
                allowed=", ".join(self.fields),
            )
        return values

    def describe(self, profile: Profile) -> dict[str, Any]:
        return {
            "kind": "form",
            "fields": {name: param.schema(profile) for name, param in self.fields.items()},
        }


class Upload(Struct, frozen=True):
    """A file, as the body or in a form; its value is the result of the check, if there is one."""

    what: str
    max_bytes: int = UPLOAD_LIMIT
    check: Callable[[bytes], bytes] | None = None

    def read(self, body: bytes, content_type: str, profile: Profile) -> bytes:
        try:
            file = read_upload(body, content_type)
            if not file:
                raise BadUpload(f"The body is empty; send {self.what}.")
            return self.check(file) if self.check else file
        except BadUpload as error:
            raise Malformed(str(error), allowed=self.what) from error

    def describe(self, profile: Profile) -> dict[str, Any]:
        return {"kind": "upload", "content": self.what, "maximum bytes": self.max_bytes}


class UnsupportedBody(Refusal):
    status = 415
    title = "The body has the wrong type"
