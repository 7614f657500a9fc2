"""The bytes of a status file as keys and what they tell, whoever sent them."""

from typing import Any
from xml.etree import ElementTree

import msgspec

from leverframe.status_files.forms import NotReadable


def keys_in(path: str, body: bytes) -> dict[str, Any]:
    """Return the keys of a file with what they tell, or raise `NotReadable`."""
    return _in_json(body) if path.endswith(".json") else _in_xml(body)


def _in_json(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotReadable("is no JSON object") from None


def _in_xml(body: bytes) -> dict[str, Any]:
    # An entity of a document type can grow without end.
    if b"<!DOCTYPE" in body.upper():
        raise NotReadable("is no plain XML")
    try:
        root = ElementTree.fromstring(body)  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError):
        raise NotReadable("is no XML") from None
    found = {element.tag: element.text or "" for element in root if not len(element)}
    if root.tag != "response" or len(found) != len(root):
        raise NotReadable("is no list of values")
    return found
