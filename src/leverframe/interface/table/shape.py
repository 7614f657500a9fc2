"""A printed command form, such as `oname=<A><B>`, which can be matched and written.

The text of a form is a name, sometimes `=` and a value. Both are literal text with holes:

- holes of the name are digits: one digit each, and all remaining digits for the last hole;
- a hole of the value that touches the next hole is one character wide;
- a hole followed by literal text extends to that text, and the last hole to the end.

Matching is done on the raw query, before percent-decoding. If the name matches and the value does
not, the command is malformed, not unknown.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from leverframe.interface.table.refusals import Malformed

_HOLE = re.compile(r"<([A-Z])>")
DIGITS = "0123456789"
NO_OTHER_FORM = "accepts no other form"


def with_plain_colons(raw: str) -> str:
    """Decode only colons: some libraries encode them everywhere."""
    return raw.replace("%3A", ":").replace("%3a", ":")


def name_key(name: str) -> str:
    """Return the key that related forms share: `out` for `out0` and for `out<A>`."""
    return (_HOLE.sub("", name) if "<" in name else name).rstrip(DIGITS)


class Template(Struct, frozen=True):
    """Literal text with placeholders: `literals[0] <holes[0]> literals[1] <holes[1]> ...`"""

    literals: tuple[str, ...]
    holes: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "Template":
        pieces = _HOLE.split(text)
        return cls(tuple(pieces[0::2]), tuple(pieces[1::2]))

    def write(self, texts: Mapping[str, str]) -> str:
        written = self.literals[0]
        for hole, literal in zip(self.holes, self.literals[1:], strict=True):
            written += texts[hole] + literal
        return written


class Item:
    """One item of a query: a name, and a value if the form has one."""

    __slots__ = ("_name_pattern", "holes", "name", "text", "value")

    def __init__(self, text: str) -> None:
        self.text = text
        name, equals, value = text.partition("=")
        self.name = Template.of(name)
        self.value = Template.of(value) if equals else None
        self.holes = self.name.holes + (self.value.holes if self.value else ())
        self._name_pattern: re.Pattern[str] | None = None

    @property
    def key(self) -> str:
        return name_key(self.text.partition("=")[0])

    def match_name(self, name: str) -> dict[str, str] | None:
        if not self.name.holes:
            return {} if name == self.name.literals[0] else None
        if self._name_pattern is None:
            # Compiled on first use, because compiling the patterns of all names would slow down
            # startup.
            self._name_pattern = _name_pattern(self.name)
        found = self._name_pattern.fullmatch(name)
        return dict(zip(self.name.holes, found.groups(), strict=True)) if found else None

    def is_named_in(self, text: str) -> bool:
        return self.match_name(text.partition("=")[0]) is not None

    def is_shape_of(self, text: str) -> bool:
        """Return whether the separators alone show that the text has this form."""
        separators = self._separators()
        value = text.partition("=")[2]
        return bool(separators) and all(
            value.count(separator) == separators.count(separator) for separator in separators
        )

    def shares_separator(self, text: str) -> bool:
        """Return whether the text contains a separator that only this form has."""
        value = with_plain_colons(text.partition("=")[2])
        return any(separator in value for separator in self._separators())

    def _separators(self) -> list[str]:
        literals = self.value.literals[1:-1] if self.value else ()
        return [literal for literal in literals if literal]

    def split_value(
        self, value: str, optional: frozenset[str], lists: frozenset[str]
    ) -> dict[str, str]:
        """Return the raw text of each hole; trailing holes in `optional` may be missing.

        A hole named in `lists` may contain the separator `*`; in any other hole, a `*` means one
        field too many.
        """
        if self.value is None:
            if value:
                raise self._refuse("does not accept a value")
            return {}
        literals, holes = self.value.literals, self.value.holes
        if ":" in literals:
            value = with_plain_colons(value)
        if not value.startswith(literals[0]):
            raise self._refuse(f"begins with {literals[0]!r}" if holes else NO_OTHER_FORM)
        rest = value[len(literals[0]) :]
        texts: dict[str, str] = {}
        for hole, literal in zip(holes[:-1], literals[1:], strict=False):
            if not literal:
                texts[hole], rest = rest[:1], rest[1:]
                continue
            texts[hole], separator, rest = rest.partition(literal)
            if not separator:
                break
        else:
            if holes:
                texts[holes[-1]] = rest
            elif rest:
                raise self._refuse(NO_OTHER_FORM)
        if "*" in self.text and any("*" in texts[hole] for hole in texts.keys() - lists):
            raise self._refuse(f"has {len(holes)} fields")
        if not optional.issuperset(holes[len(texts) :]):
            raise self._refuse(f"has {len(holes)} fields; the request has {len(texts)}")
        return texts

    def _refuse(self, reason: str) -> Malformed:
        return Malformed(f"The command {self.text} {reason}.", allowed=self.text)

    def write(self, texts: Mapping[str, str]) -> str:
        """Fill the holes of the item; omit trailing fields without a value."""
        name = self.name.write(texts)
        if self.value is None:
            return name
        written = self.value.literals[0]
        for number, hole in enumerate(self.value.holes):
            if hole not in texts:
                return f"{name}={written.removesuffix(self.value.literals[number])}"
            written += texts[hole] + self.value.literals[number + 1]
        return f"{name}={written}"


def _name_pattern(name: Template) -> re.Pattern[str]:
    pattern = re.escape(name.literals[0])
    for number, literal in enumerate(name.literals[1:], start=1):
        digits = r"(\d)" if number < len(name.holes) else r"(\d+)"
        pattern += digits + re.escape(literal)
    return re.compile(pattern, re.ASCII)


class Form:
    """A complete printed line: `GET /stm.cgi?em1=<A>&em2=<B>`."""

    __slots__ = ("holes", "items", "line", "method", "path")

    def __init__(self, line: str) -> None:
        self.line = line
        self.method, target = line.split(" ", 1)
        self.path, _, query = target.partition("?")
        self.items = tuple(Item(item) for item in query.split("&")) if query else ()
        self.holes = tuple(hole for item in self.items for hole in item.holes)

    def write(self, texts: Mapping[str, str]) -> str:
        """Write path and query with the holes filled."""
        query = "&".join(item.write(texts) for item in self.items)
        return f"{self.path}?{query}" if query else self.path
