"""The three kinds of POST body: list items, form fields, an uploaded file.

List bodies are read up to `&&`; clients of real units wrap all sorts of text around the list. What
stands before the first `&` belongs to it only if it has the name of an item. Everything is checked
before anything is staged.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from leverframe.commands.table.params import (
    Param,
    item_of_version,
    optional_fields,
    parse_fields,
    split_fields,
)
from leverframe.commands.table.refusals import BadValue, Malformed, Refusal
from leverframe.commands.table.shape import Item
from leverframe.profile import Profile
from leverframe.uploads.bad_upload import BadUpload
from leverframe.uploads.multipart import read_upload

LIST_BODY_LIMIT = 1 << 20
#: For what people send who have not signed in yet: it has room of its own.
SMALL_BODY_LIMIT = 8 << 10
#: Larger ones are checked off the event loop; lists and forms of our own pages are smaller.
ON_LOOP_BODY_LIMIT = 32 << 10
UPLOAD_LIMIT = 16 << 20


_PERCENT_ENCODED = {byte: f"%{byte:02X}" for byte in range(0x80, 0x100)}


def _ascii(body: bytes) -> str:
    """Decode the body to raw text; letters beyond ASCII count as percent-encoded."""
    return body.decode("latin-1").translate(_PERCENT_ENCODED)


class ListBody(Struct, frozen=True):
    """`&m<A><B>=<C>*<D>` items ended by `&&`; gives one dict of fields per item."""

    item: Item
    params: Mapping[str, Param]
    #: As many as there are places for them.
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
            # Where the list holds passwords, it may be the end of one that was not encoded.
            raise Malformed(
                f"{text[:60]!r} is not an item of this list.",
                command=text[:120],
                allowed=item_of_version(self.item, self.params, profile).text,
                discreet=f"Number {place} of the list is not one of its items.",
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
    """`application/x-www-form-urlencoded` fields, each of a known name, in any order."""

    fields: Mapping[str, Param]
    max_bytes: int = LIST_BODY_LIMIT
    #: No field may be left out.
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
                # Where the form holds a password, the name may be the end of it, not encoded.
                raise BadValue(
                    f"{name[:40]!r} is not a field of this form.",
                    field=name[:40],
                    allowed=", ".join(self.fields),
                    discreet="The form has a field that does not belong to it.",
                )
            if name in values:
                raise BadValue(
                    f"The field {name} is given twice.", field=name, allowed="each field once"
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
    """A file, as the body or in a form; if there is a check, the result of the check."""

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
