"""The comparison of two answers to the same request by their meaning.

JSON and XML are compared by the values of their keys: neither the order of keys nor the notation of
a number matters. Other text is compared line by line. Numbers may differ within a tolerance. The
numbers 0 and 1 and texts of these digits are states, and must be equal.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.core.errors import ErrorForPeople
from leverframe.core.foreign_documents import BadDocument, XmlElement, read_json, read_xml
from leverframe.interface.exchange import JSON_TYPES, RecordedAnswer, RecordedBody, media_type

#: Keys whose values change with every request or differ between units.
VARYING = frozenset(
    {
        *("time", "uptime", "date", "mac", "sname", "ports"),
        # The key of the MAC address in older files.
        "ip4",
        *("uptimeseconds", "uptimeminutes", "uptimehours", "uptimedays"),
        *("sec0", "sec1", "sec2", "sec3", "sec4"),
    }
)
STATUS, CONTENT_TYPE, LOCATION, BODY = "status", "content type", "location", "body"
#: The value of a key that only the other answer has.
ABSENT = "(missing)"
MAX_SHOWN_LETTERS = 200

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,15})(\.\d{1,15})?")
_STATES = re.compile(r"[01]{4,}")


class BadTolerance(ErrorForPeople):
    """An invalid tolerance: one sentence."""


class Tolerance(Struct, frozen=True):
    """The tolerated difference of two numbers: absolute, or as a share of the larger one."""

    absolute: float = 0.0
    relative: float = 0.0

    @classmethod
    def of(cls, text: str) -> "Tolerance":
        number = text.strip().removesuffix("%")
        if _NUMBER.fullmatch(number) is None or number.startswith("-"):
            raise BadTolerance(
                f"{text!r} is not a tolerance; write a number such as 0.5 or a percentage "
                "such as 2%."
            )
        if text.strip().endswith("%"):
            return cls(relative=float(number) / 100)
        return cls(absolute=float(number))

    def allows(self, recorded: float, other: float) -> bool:
        apart = abs(recorded - other)
        # Floats are inexact: 0.1 + 0.2 is not quite 0.3.
        slack = 1e-9 * max(abs(recorded), abs(other), 1.0)
        return apart <= max(self.absolute, self.relative * max(abs(recorded), abs(other))) + slack


class Difference(Struct, frozen=True):
    key: str
    recorded: str
    now: str
    #: The value is different in every answer; the difference is reported but not counted.
    varies: bool = False


class ComparisonRules(Struct, frozen=True):
    tolerance: Tolerance = Tolerance()
    #: Ignored keys in lower case: a step of a path, or a whole path.
    excluded: frozenset[str] = VARYING

    def leaves_out(self, key: str) -> bool:
        key = key.lower()
        return key in self.excluded or not self.excluded.isdisjoint(key.split("."))


def differences(
    recorded: RecordedAnswer, now: RecordedAnswer, rules: ComparisonRules
) -> list[Difference]:
    """List the differences between two answers to the same request."""
    found: list[Difference] = []
    for key, then, here in (
        (STATUS, _status(recorded), _status(now)),
        (CONTENT_TYPE, _kind(recorded), _kind(now)),
        (LOCATION, recorded.headers.get("location", ""), now.headers.get("location", "")),
    ):
        if then != here:
            found.append(Difference(key, then or ABSENT, here or ABSENT))
    if recorded.status and now.status:
        found += _body_differences(recorded, now, rules)
    return found


def _status(answer: RecordedAnswer) -> str:
    return str(answer.status) if answer.status else f"no answer: {answer.problem}"


def _kind(answer: RecordedAnswer) -> str:
    return media_type(answer.headers.get("content-type", ""))


def _body_differences(
    recorded: RecordedAnswer, now: RecordedAnswer, rules: ComparisonRules
) -> list[Difference]:
    if recorded.body.left_out or now.body.left_out:
        return _compare_omitted(recorded.body, now.body)
    one, other = (values_in(answer.body.text, _kind(answer)) for answer in (recorded, now))
    if one is None or other is None:
        return _text_differences(recorded.body.text, now.body.text)
    return list(_value_differences(one, other, rules))


def _compare_omitted(recorded: RecordedBody, now: RecordedBody) -> list[Difference]:
    if recorded.left_out == now.left_out:
        return []
    return [Difference(BODY, _describe_omitted(recorded), _describe_omitted(now))]


def _describe_omitted(body: RecordedBody) -> str:
    return f"{body.size} bytes ({body.left_out})" if body.left_out else _value_text(body.text)


def _text_differences(recorded: str, now: str) -> list[Difference]:
    ones, others = _lines(recorded), _lines(now)
    for number in range(max(len(ones), len(others))):
        one = ones[number] if number < len(ones) else ABSENT
        other = others[number] if number < len(others) else ABSENT
        if one != other:
            return [Difference(f"{BODY} line {number + 1}", _value_text(one), _value_text(other))]
    return []


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _value_differences(
    recorded: Mapping[str, Any], now: Mapping[str, Any], rules: ComparisonRules
) -> Iterator[Difference]:
    for key in {**recorded, **now}:
        one, other = recorded.get(key, msgspec.UNSET), now.get(key, msgspec.UNSET)
        if not same_value(one, other, rules.tolerance):
            yield Difference(key, _value_text(one), _value_text(other), rules.leaves_out(key))


def same_value(recorded: Any, other: Any, tolerance: Tolerance) -> bool:
    """Return whether two values have the same meaning; a number differs from its text."""
    if recorded == other and isinstance(recorded, bool) is isinstance(other, bool):
        return True
    numbers = _number(recorded), _number(other)
    if isinstance(recorded, str) is not isinstance(other, str) or None in numbers:
        return False
    if any(_is_state(value) for value in (recorded, other)):
        return numbers[0] == numbers[1]
    return tolerance.allows(*numbers)  # type: ignore[arg-type]


def _number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    return None


def _is_state(value: Any) -> bool:
    return value in (0, 1, "0", "1") or (
        isinstance(value, str) and _STATES.fullmatch(value) is not None
    )


def _value_text(value: Any) -> str:
    if value is msgspec.UNSET:
        return ABSENT
    text = value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}..."


def values_in(text: str, kind: str) -> dict[str, Any] | None:
    """Return the values of a document by their keys; None if the text is not a document."""
    text = text.strip()
    if kind in JSON_TYPES or text[:1] in ("{", "["):
        try:
            return dict(_flat(read_json(text.encode())))
        except ValueError:
            return None
    if text[:1] == "<" and kind != "text/html":
        try:
            return dict(_flat(_content(read_xml(text))))
        except BadDocument:
            return None
    return None


def _content(element: XmlElement) -> Any:
    """Return an element as a text, or as a mapping of its children by name."""
    if not element.children and not element.attributes:
        return element.text.strip()
    found: dict[str, Any] = {f"@{name}": value for name, value in element.attributes.items()}
    if text := element.text.strip():
        found["text"] = text
    names = Counter(child.tag for child in element.children)
    for child in element.children:
        if names[child.tag] > 1:
            found.setdefault(child.tag, []).append(_content(child))
        else:
            found[child.tag] = _content(child)
    return found


def _flat(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value of a document with its path; an empty list or object is a value itself."""
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        path, value = waiting.pop()
        if not value or not isinstance(value, dict | list):
            yield path or BODY, value
            continue
        members: Iterable[tuple[Any, Any]] = (
            value.items() if isinstance(value, dict) else enumerate(value)
        )
        inner = [(f"{path}.{name}" if path else str(name), one) for name, one in members]
        waiting += reversed(inner)
