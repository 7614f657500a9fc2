"""Conditions as text, for waiting: `DS1 >= 30 and "Pump room" != on`.

A comparison has a label, or the name that a user gave to what has one; then `>`, `<`, `>=`, `<=`,
`==`, `=` or `!=`; then a number, `on`, `off` or `none`. Comparisons are joined with `and` and `or`,
of which `and` binds more closely, and with parentheses. What is absent is only equal to `none`.
"""

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from leverframe.engine.labels import LABELS, LIGHTING, shorten_labels
from leverframe.engine.machine import Value
from leverframe.engine.pwm import DUTIES
from leverframe.engine.settings import Settings
from leverframe.errors import ErrorForPeople
from leverframe.naming.names import own_names

#: Returns the present value of a label.
Read = Callable[[str], Value]
Judge = Callable[[Read], bool]

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_EQUALITIES = ("==", "=", "!=")
_WORDS: dict[str, float | None] = {"on": 1.0, "off": 0.0, "none": None}
_KNOWN = (*LABELS, *DUTIES, *LIGHTING)
MAX_LETTERS = 500
#: Parentheses within each other; each level is a call of a function.
MAX_DEPTH = 10
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>>=|<=|==|!=|[<>=()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|(?P<word>[^\s<>=!()"']+))"""
)
ALLOWED = (
    f"a label or a name, then {', '.join(COMPARISONS)}, then a number, on, off or none, like"
    ' DS1 >= 30 or "Pump room" != on; joined with and, or and parentheses'
)


class BadCondition(ErrorForPeople, ValueError):
    """An error about a condition: what is wrong, what is allowed."""

    def __init__(self, detail: str, allowed: str = ALLOWED) -> None:
        super().__init__(f"{detail} Allowed: {allowed}.")
        self.detail = detail
        self.allowed = allowed


class _Token(NamedTuple):
    text: str
    #: `sign`, `word`, or `quoted` for a name in quotation marks.
    kind: str


def condition_from_text(text: str, settings: Settings) -> Judge:
    """Return a function that judges a condition; names are those of these settings."""
    if len(text) > MAX_LETTERS:
        raise BadCondition(f"A condition has at most {MAX_LETTERS} characters, not {len(text)}.")
    reader = _ConditionReader(text, own_names(settings))
    judge = reader.read_alternatives(MAX_DEPTH)
    reader.check_end()
    return judge


class _ConditionReader:
    def __init__(self, text: str, names: dict[str, str]) -> None:
        self._text = text
        self._names = names
        self._tokens = _tokens_of(text)
        self._next = 0

    def read_alternatives(self, depth: int) -> Judge:
        return self._read_joined("or", any, lambda: self._read_joined_by_and(depth))

    def check_end(self) -> None:
        if self._peek() is not None:
            raise self._mistake()

    def _read_joined_by_and(self, depth: int) -> Judge:
        return self._read_joined("and", all, lambda: self._read_part(depth))

    def _read_joined(
        self, word: str, holds: Callable[[Sequence[bool]], bool], read: Callable[[], Judge]
    ) -> Judge:
        parts = [read()]
        while self._takes(word):
            parts.append(read())
        if len(parts) == 1:
            return parts[0]
        return lambda value_of: holds([part(value_of) for part in parts])

    def _read_part(self, depth: int) -> Judge:
        if not self._takes("("):
            return self._read_comparison()
        if depth == 0:
            raise BadCondition(f"A condition has at most {MAX_DEPTH} nested parentheses.")
        inner = self.read_alternatives(depth - 1)
        if not self._takes(")"):
            raise self._mistake()
        return inner

    def _read_comparison(self) -> Judge:
        first = self._take()
        if first.kind == "sign":
            raise self._mistake()
        words = [first.text]
        while (token := self._peek()) is not None and token.kind == "word":
            words.append(self._take().text)
        sign = self._take()
        if sign.text not in COMPARISONS or sign.kind != "sign":
            raise self._mistake()
        label = self._label(" ".join(words))
        number = self._number(sign.text)
        if number is None:
            is_absent = sign.text != "!="
            return lambda value_of: (value_of(label) is None) is is_absent
        compare = COMPARISONS[sign.text]

        def judge(value_of: Read) -> bool:
            value = value_of(label)
            return isinstance(value, float | int) and compare(value, number)

        return judge

    def _number(self, sign: str) -> float | None:
        token = self._take()
        if token.kind == "word" and token.text.lower() in _WORDS:
            number = _WORDS[token.text.lower()]
            if number is None and sign not in _EQUALITIES:
                raise BadCondition(
                    f"none can be compared with {', '.join(_EQUALITIES)}, not with {sign}."
                )
            return number
        try:
            number = float(token.text)
        except ValueError:
            number = math.nan
        if token.kind != "word" or not math.isfinite(number):
            raise self._mistake()
        return number

    def _label(self, text: str) -> str:
        """Return the label of a value that is called by its label, or by its name."""
        wanted = text.casefold()
        if found := [label for label in _KNOWN if label.casefold() == wanted]:
            return found[0]
        exact = [label for label, name in self._names.items() if name == text]
        alike = [label for label, name in self._names.items() if name.casefold() == wanted]
        named = exact or alike
        if len(named) > 1:
            raise BadCondition(
                f"{text!r} is the name of {', '.join(named)}.", "one of these labels"
            )
        if not named:
            known = ", ".join([*shorten_labels(_KNOWN), *map(repr, self._names.values())])
            raise BadCondition(f"Unknown label or name {text!r}.", known)
        return named[0]

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> _Token:
        token = self._peek()
        if token is None:
            raise self._mistake()
        self._next += 1
        return token

    def _takes(self, text: str) -> bool:
        token = self._peek()
        if token is None or token.kind == "quoted" or token.text.lower() != text:
            return False
        self._next += 1
        return True

    def _mistake(self) -> BadCondition:
        return BadCondition(f"{self._text.strip()!r} is not a condition.")


def _tokens_of(text: str) -> list[_Token]:
    tokens, place, end = list[_Token](), 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise BadCondition(f"{text.strip()!r} is not a condition.")
        place = found.end()
        kind = found.lastgroup or ""
        tokens.append(_Token(found[kind], kind if kind in ("sign", "word") else "quoted"))
    return tokens
