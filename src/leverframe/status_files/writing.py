"""Keys and texts as JSON or XML.

XML has one element per line, which is what line-oriented clients look for, and nothing but text
inside. Characters that XML cannot hold are replaced; JSON can hold them all.
"""

import re
from collections.abc import Mapping

import msgspec

from leverframe.status_files.keys import Shown

_NEEDS_NO_CARE = re.compile(r"[\w*.:+/=% -]*", re.ASCII)
#: Control characters, line ends among them, and what is no character at all. What fits would take
#: four times as long to compile; this is done where it is first used.
_UNFIT = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]"

#: Of our own because the table of all entities in `html` takes half a megabyte.
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ANYWHERE = _IN_TEXT | str.maketrans({'"': "&quot;", "'": "&#x27;"})

json_bytes = msgspec.json.Encoder().encode


def xml_bytes(shown: Mapping[str, Shown]) -> bytes:
    texts = [text for text in shown.values() if isinstance(text, str)]
    assert len(texts) == len(shown), "lists are for JSON alone"
    if _NEEDS_NO_CARE.fullmatch("".join(texts)) is None:
        # Seldom: looking at all of them together takes 20 us less than at each.
        texts = [xml_text(text) for text in texts]
    lines = [f"<{tag}>{text}</{tag}>\n" for tag, text in zip(shown, texts, strict=True)]
    return f"<response>\n{''.join(lines)}</response>\n".encode()


def xml_text(text: str) -> str:
    if _NEEDS_NO_CARE.fullmatch(text):
        return text
    return re.sub(_UNFIT, "\ufffd", text).translate(_IN_TEXT)


def escape_markup(text: str) -> str:
    """Write a text so that it stands for itself in XML and HTML, also inside quotes."""
    return text.translate(_ANYWHERE)
