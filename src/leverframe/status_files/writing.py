"""Keys and texts as JSON or XML.

XML has one element per line, which is what line-oriented clients look for, and nothing but text
inside. Characters that XML cannot hold are replaced; JSON can hold them all.
"""

import re
from collections.abc import Mapping
from html import escape

import msgspec

from leverframe.status_files.keys import Shown

_NEEDS_NO_CARE = re.compile(r"[\w*.:+/=% -]*", re.ASCII)
#: Control characters, line ends among them, and what is no character at all.
_UNFIT = re.compile("[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")

json_bytes = msgspec.json.Encoder().encode


def xml_bytes(shown: Mapping[str, Shown]) -> bytes:
    lines = [f"<{tag}>{xml_text(text)}</{tag}>\n" for tag, text in shown.items()]
    return f"<response>\n{''.join(lines)}</response>\n".encode()


def xml_text(text: Shown) -> str:
    assert isinstance(text, str), "lists are for JSON alone"
    if _NEEDS_NO_CARE.fullmatch(text):
        return text
    return escape(_UNFIT.sub("\ufffd", text), quote=False)
