"""The bytes of a status file as keys and values, whichever unit sent them."""

from typing import Any

from leverframe.foreign_documents import BadDocument, read_json_object, read_xml
from leverframe.status_files.forms import NotReadable

#: An XML file is a list of values: one element, and one for each value.
_LEVELS = 2


def keys_in(path: str, body: bytes) -> dict[str, Any]:
    """Return the values of a file by their keys, or raise `NotReadable`."""
    try:
        return read_json_object(body) if path.endswith(".json") else _in_xml(body)
    except BadDocument as error:
        raise NotReadable(str(error)) from None


def _in_xml(body: bytes) -> dict[str, Any]:
    root = read_xml(body, max_depth=_LEVELS)
    found = {element.tag: element.text for element in root.children}
    if root.tag != "response" or len(found) != len(root.children):
        raise NotReadable("is not a list of values")
    return found
