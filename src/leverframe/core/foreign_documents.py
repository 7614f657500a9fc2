"""Parsers for untrusted JSON and XML, with limits on size, depth and number of elements.

The objects of a document can need a hundred times its size in memory, for example if it consists of
nested empty elements or a long list of empty lists. Therefore values are counted before or during
parsing, and a document beyond a limit is rejected before it uses much memory. XML document type
declarations are always rejected, because their entities can expand without limit.
"""

import re
from typing import Any
from xml.parsers import expat

import msgspec
from msgspec import Struct

#: Settings of Leverframe have 5 levels, status files have 2.
MAX_DEPTH = 32
#: Maximum number of brackets, commas and colons in a JSON document; the complete settings of
#: Leverframe have about 5,000.
MAX_JSON_SIGNS = 50_000
#: Limits for XML; the longest file of a unit has 2 KB and 70 elements.
MAX_XML_BYTES = 256 * 1024
MAX_XML_ELEMENTS = 5_000
#: A complete string, even if unterminated, or a structural character outside of strings. The
#: possessive quantifiers never backtrack, so every byte is read only once.
_TEXT_OR_SIGN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]', re.DOTALL)


class BadDocument(ValueError):
    """A rejected document; the message completes a sentence that begins with its name."""


class XmlElement(Struct):
    """An XML element; its text is the part before its first child."""

    tag: str
    attributes: dict[str, str] = {}
    text: str = ""
    children: list["XmlElement"] = []


def read_json(body: bytes) -> Any:
    """Decode a JSON document; raise `BadDocument` if it is invalid or beyond the limits."""
    _check_signs(body)
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadDocument("is not JSON") from None


def read_json_object(body: bytes) -> dict[str, Any]:
    """Decode a JSON document that is an object."""
    document = read_json(body)
    if not isinstance(document, dict):
        raise BadDocument("is not a JSON object")
    return document


def _check_signs(body: bytes) -> None:
    depth = 0
    for number, found in enumerate(_TEXT_OR_SIGN.finditer(body)):
        # Twice the maximum number, because there is at most one string between two structural
        # characters.
        if number > 2 * MAX_JSON_SIGNS:
            raise BadDocument(f"has more than {MAX_JSON_SIGNS} values")
        sign = body[found.start()]
        if sign in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise BadDocument(f"has more than {MAX_DEPTH} levels")
        elif sign in b"]}":
            depth -= 1


def read_xml(body: bytes | str, max_depth: int = MAX_DEPTH) -> XmlElement:
    """Parse an XML document; raise `BadDocument` if it is invalid or beyond the limits."""
    if len(body) > MAX_XML_BYTES:
        raise BadDocument(f"has more than {MAX_XML_BYTES} bytes")
    # A `str` is encoded as UTF-8 here, regardless of the encoding that it declares.
    reader = _XmlReader(expat.ParserCreate("utf-8" if isinstance(body, str) else None), max_depth)
    return reader.read(body.encode("utf-8", "replace") if isinstance(body, str) else body)


class _XmlReader:
    def __init__(self, parser: expat.XMLParserType, max_depth: int) -> None:
        self._parser = parser
        self._max_depth = max_depth
        self._root: XmlElement | None = None
        #: The elements from the root to the one being read.
        self._open: list[XmlElement] = []
        self._count = 0
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        parser.StartDoctypeDeclHandler = self._refuse_document_type

    def read(self, body: bytes) -> XmlElement:
        try:
            self._parser.Parse(body, True)
        except BadDocument:
            raise
        except (expat.ExpatError, ValueError, LookupError):
            raise BadDocument("is not XML") from None
        assert self._root is not None, "expat refuses a document without an element"
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_XML_ELEMENTS:
            raise BadDocument(f"has more than {MAX_XML_ELEMENTS} elements")
        if len(self._open) == self._max_depth:
            raise BadDocument(f"has more than {self._max_depth} levels")
        element = XmlElement(tag, attributes)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _add_text(self, text: str) -> None:
        element = self._open[-1]
        if not element.children:
            element.text += text

    def _refuse_document_type(self, *_: object) -> None:
        raise BadDocument("has a document type, which is refused")
