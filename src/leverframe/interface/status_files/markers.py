"""Markers in the pages of an uploaded web site: `<--#dsid-->` is replaced by the value of `dsid`.

Every key of the JSON status files is a marker, except those of the files that only the
administrator may read. If several files have the key, the first in `MARKER_FILES` is used. A marker
with an unknown name is not changed. Values are escaped so that they are always text; the kind
of escaping depends on the place of the marker.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote

from leverframe.core.profile import Profile
from leverframe.interface.status_files.catalogue import FILES, keys_of
from leverframe.interface.status_files.keys import Keys, View
from leverframe.interface.uploads import ending_of

# The possible places of a marker in an uploaded page, and how a value is escaped there.
#
# A value is untrusted text, such as a name or a scanned barcode, and must always remain text.
# Therefore all characters are escaped that could end a string, an attribute or an element, begin an
# expression in a template, or add a part to a URL. At places where no value is safe, such as in the
# name of an element, the marker is not replaced.
#
# The reader of markup is accurate enough to know the state of a browser's parser at a marker. If it
# is wrong, for example because of invalid HTML, all kinds of escaping are still safe in text and in
# quotes.

Write = Callable[[str], str]

# Uncompiled patterns: `re` compiles them on first use, which keeps startup fast.
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
#: All characters except letters and digits of any script and a few that have no meaning in markup.
_PLAIN_IN_MARKUP = r"[^\w.:,-]"
#: Characters that XML forbids, even as numeric references.
_UNFIT = "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
_PLAIN_IN_SCRIPT = r"\W"
_PLAIN_IN_STYLE = r"[^A-Za-z0-9]"


def in_markup(text: str) -> str:
    """Escape text of an element, or of an attribute with or without quotes."""
    fit = re.sub(_UNFIT, "\ufffd", text)
    return re.sub(_PLAIN_IN_MARKUP, lambda found: f"&#{ord(found[0])};", fit)


def in_script(text: str) -> str:
    """Escape the content of a string in a script, template or JSON; numbers are not changed."""
    if re.fullmatch(_NUMBER, text):
        return text
    return re.sub(_PLAIN_IN_SCRIPT, _as_utf16, text)


def in_style(text: str) -> str:
    if re.fullmatch(_NUMBER, text):
        return text
    return re.sub(_PLAIN_IN_STYLE, lambda found: f"\\{ord(found[0]):06x}", text)


def in_address(text: str) -> str:
    """Escape one part of a URL, so that it adds no path, parameter or scheme."""
    return quote(text, safe="", errors="replace")


def in_script_address(text: str) -> str:
    """Escape a string in a `javascript:` URL, which is decoded before it is executed."""
    return in_address(in_script(text))


def in_document(text: str) -> str:
    """Escape text of a document within an attribute, which is parsed twice."""
    return in_markup(in_markup(text))


def as_it_is(text: str) -> str:
    return text


def _as_utf16(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class TextReader:
    """A file in which values are escaped in the same way everywhere."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def read(self, text: str) -> None:
        """Process the text of the file up to the next marker."""

    def write_here(self) -> Write | None:
        """Return the function that escapes a value at this place; None if no value is safe here."""
        return self._write


#: The beginning of a string that can only be a URL.
_BEGUN_ADDRESS = r"""(?i)["'`](?:/|\.{1,2}/|[a-z][a-z0-9+.-]*:/|[^"'`\s]*\?)[^"'`\s]*$"""
_LOOKED_BACK = 300


class ScriptReader(TextReader):
    """A script: values are in strings, and some of these strings are URLs."""

    def __init__(self) -> None:
        super().__init__(in_script)
        self._before = ""

    def read(self, text: str) -> None:
        self._before = (self._before + text)[-_LOOKED_BACK:]

    def write_here(self) -> Write | None:
        write = in_address if re.search(_BEGUN_ADDRESS, self._before) else in_script
        self._before += "x"
        return write


_ADDRESSES = {
    *("href", "src", "action", "formaction", "data", "poster", "background", "cite", "ping"),
    *("longdesc", "manifest", "srcset", "imagesrcset", "codebase", "archive", "usemap", "profile"),
    # Attributes of animations, which can set any other attribute.
    *("from", "to", "by", "values"),
}
_TAG = re.compile(r"</?[a-z][^\s/>]*", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"[^\s/>=][^\s/>=]*")
_SPACE = re.compile(r"[\s/]+")
_EQUALS = re.compile(r"\s*=\s*")
_UNQUOTED_END = re.compile(r"[\s>]")


class MarkupReader(TextReader):
    """HTML, XML or SVG, where the place of a marker determines how its value is escaped."""

    def __init__(self) -> None:
        super().__init__(in_markup)
        self._state: Callable[[str, int], int] = self._in_text
        #: The element and the attribute of the current tag.
        self._element = ""
        self._attribute = ""
        self._value = ""
        self._quote = ""
        self._script = ScriptReader()

    def read(self, text: str) -> None:
        at = 0
        while at < len(text):
            at = self._state(text, at)

    def write_here(self) -> Write | None:
        if self._state == self._in_tag:
            return None
        if self._state == self._before_value:
            self._begin_value("")
        if self._state == self._in_value:
            write = self._write_in_value()
            self._value += "x"
            return write
        if self._state == self._in_raw:
            return in_style if self._element == "style" else self._script.write_here()
        return in_markup

    def _write_in_value(self) -> Write:
        name, value = self._attribute, self._value.strip().lower()
        if name.startswith("on"):
            return in_script
        if name == "style":
            return in_style
        if name == "srcdoc":
            return in_document
        if name in _ADDRESSES or (name == "content" and "url=" in value):
            return in_script_address if value.startswith("javascript:") else in_address
        return in_markup

    def _in_text(self, text: str, at: int) -> int:
        at = text.find("<", at)
        if at < 0:
            return len(text)
        if text.startswith("<!--", at):
            self._state = self._in_comment
            return at + 4
        if found := _TAG.match(text, at):
            self._element = found[0][1:].lower().rpartition(":")[2]
            self._state = self._in_tag
            return found.end()
        if text[at + 1 :] in ("", "/"):
            # A marker here would be the name of an element.
            self._element, self._state = "", self._in_tag
        return at + 1

    def _in_comment(self, text: str, at: int) -> int:
        end = text.find("-->", at)
        if end < 0:
            return len(text)
        self._state = self._in_text
        return end + 3

    def _in_tag(self, text: str, at: int) -> int:
        if found := _SPACE.match(text, at):
            return found.end()
        if text[at] == ">":
            self._end_tag()
            return at + 1
        if found := _EQUALS.match(text, at):
            self._state = self._before_value
            return found.end()
        found = _ATTRIBUTE.match(text, at)
        assert found is not None, "what is neither space, end nor equals sign is a name"
        self._attribute = found[0].lower().rpartition(":")[2]
        return found.end()

    def _before_value(self, text: str, at: int) -> int:
        if text[at] in "\"'":
            self._begin_value(text[at])
            return at + 1
        self._begin_value("")
        return at

    def _begin_value(self, quote_mark: str) -> None:
        self._quote, self._value, self._state = quote_mark, "", self._in_value

    def _in_value(self, text: str, at: int) -> int:
        if self._quote:
            end = text.find(self._quote, at)
        else:
            found = _UNQUOTED_END.search(text, at)
            end = found.start() if found else -1
        if end < 0:
            self._value += text[at:]
            return len(text)
        self._attribute, self._state = "", self._in_tag
        return end + len(self._quote)

    def _end_tag(self) -> None:
        is_raw = self._element in ("script", "style")
        self._script = ScriptReader()
        self._state = self._in_raw if is_raw else self._in_text

    def _in_raw(self, text: str, at: int) -> int:
        end = text.lower().find(f"</{self._element}", at)
        if end < 0:
            self._script.read(text[at:])
            return len(text)
        self._state = self._in_text
        return end


#: The readers of files with markers, by file name extension.
READERS: dict[str, Callable[[], TextReader]] = {
    **dict.fromkeys(("html", "htm", "xml", "svg"), MarkupReader),
    **dict.fromkeys(("js", "mjs", "json"), ScriptReader),
    "txt": lambda: TextReader(as_it_is),
}


MARKER_FILES = tuple(
    file.path
    for file in FILES.values()
    if file.path.startswith("/json/") and not file.is_for_administrator
)
_MARKER = re.compile(rb"<--#(\w{1,40})-->", re.ASCII)


def with_values(page: bytes, name: str, view: View) -> bytes:
    """Return the page with its markers replaced; the same object if it has none."""
    reader = READERS.get(ending_of(name))
    names = [] if reader is None else [found[1].decode() for found in _MARKER.finditer(page)]
    if reader is None or not names:
        return page
    return fill_markers(page, reader(), marker_values(names, view))


def fill_markers(page: bytes, reader: TextReader, values: Mapping[str, str]) -> bytes:
    """Replace the markers by values, which are escaped according to their places."""
    written: list[bytes] = []
    end = 0
    for found in _MARKER.finditer(page):
        text = values.get(found[1].decode())
        before = page[end : found.start() if text is not None else found.end()]
        # The page may have another encoding than UTF-8, but a reader needs only the ASCII
        # characters.
        reader.read(before.decode("latin-1"))
        written.append(before)
        end = found.end()
        if text is not None:
            write = reader.write_here()
            written.append(found[0] if write is None else write(text).encode("utf-8", "replace"))
    return b"".join((*written, page[end:]))


@lru_cache(maxsize=64)
def _keys_by_marker(profile: Profile) -> dict[str, Keys]:
    """Return the keys of each marker in a version."""
    found: dict[str, Keys] = {}
    for path in MARKER_FILES:
        for keys in keys_of(path, profile) or ():
            found |= {name: keys for name in keys.names if name not in found}
    return found


def marker_values(names: Iterable[str], view: View) -> dict[str, str]:
    """Return the current values of the markers among these names."""
    by_marker = _keys_by_marker(view.engine.machine.profile)
    values: dict[str, str] = {}
    for name in names:
        if name in by_marker and name not in values:
            keys = by_marker[name]
            shown = zip(keys.names, keys.show(view), strict=True)
            values |= {
                one: text for one, text in shown if isinstance(text, str) and by_marker[one] is keys
            }
    return values
