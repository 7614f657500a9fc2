"""Fields by name: their types, what is allowed, and values made from text.

Plants and faults are made from them. A mistake names the field and what is allowed.
"""

import math
from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from leverframe.durations import BadDuration, seconds_from_text, text_from_seconds


class BadField(ValueError):
    """A field is wrong: which one, why, and what is allowed."""

    def __init__(self, detail: str, allowed: str, field: str = "", value: str = "") -> None:
        super().__init__(f"{detail} Allowed: {allowed}.")
        self.detail = detail
        self.allowed = allowed
        self.field = field
        self.value = value


class Number(Struct, frozen=True):
    low: float
    high: float
    unit: str

    def take(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        # What is not a number fails the comparison, too.
        if not self.low <= number <= self.high:
            raise BadField(f"{_quote_value(value)} is not possible.", self.allowed)
        return number

    @property
    def allowed(self) -> str:
        return f"{self.low:.10g} to {self.high:.10g} {self.unit}"


class Duration(Struct, frozen=True):
    low: float
    high: float

    def take(self, value: Any) -> float:
        try:
            seconds = seconds_from_text(str(value))
        except BadDuration as error:
            raise BadField(str(error), self.allowed) from None
        if not self.low <= seconds <= self.high:
            raise BadField(f"{_quote_value(value)} is not possible.", self.allowed)
        return seconds

    @property
    def allowed(self) -> str:
        return f"{text_from_seconds(self.low)} to {text_from_seconds(self.high)}"


class OneOf(Struct, frozen=True):
    labels: tuple[str, ...]

    def take(self, value: Any) -> str:
        if value not in self.labels:
            raise BadField(f"{_quote_value(value)} is not possible.", self.allowed)
        return str(value)

    @property
    def allowed(self) -> str:
        return ", ".join(self.labels)


class NumberOrLabel(Struct, frozen=True):
    number: Number
    label: OneOf

    def take(self, value: Any) -> float | str:
        if value in self.label.labels:
            return self.label.take(value)
        try:
            return self.number.take(value)
        except BadField as error:
            raise BadField(error.detail, self.allowed) from None

    @property
    def allowed(self) -> str:
        return f"{self.number.allowed}, or one of {self.label.allowed}"


class FieldType(Protocol):
    """The type of a field: what is taken for a value, and what is allowed, in words."""

    @property
    def allowed(self) -> str: ...

    def take(self, value: Any) -> Any:
        """Return the value; raise `BadField` where it is none."""


class Field(Struct, frozen=True):
    type: FieldType
    doc: str
    #: The default; `REQUIRED` where there is none.
    default: Any = None


REQUIRED = object()


def fields_from_text(text: str, error: type[BadField]) -> tuple[str, dict[str, str]]:
    """Split `kind*name:value*...` into the kind and its fields."""
    kind, *parts = text.split("*")
    fields: dict[str, str] = {}
    for part in parts:
        name, colon, value = part.partition(":")
        if not colon or name in fields:
            raise error(f"{part[:40]!r} is not a valid field.", "NAME:VALUE, each name once")
        fields[name] = value
    return kind, fields


def values_of(
    owner: str, known: Mapping[str, Field], fields: Mapping[str, Any], error: type[BadField]
) -> dict[str, Any]:
    """Return the value of every known field, its default where it is not given."""
    for name in fields:
        if name not in known:
            allowed = ", ".join(known) or "no fields"
            raise error(f"{owner} has no {name[:40]!r}.", allowed, name[:40])
    return {name: _value(owner, name, field, fields, error) for name, field in known.items()}


def _value(
    owner: str, name: str, field: Field, fields: Mapping[str, Any], error: type[BadField]
) -> Any:
    if name not in fields:
        if field.default is REQUIRED:
            raise error(f"{owner} needs {name}: {field.doc}.", field.type.allowed, name)
        return field.default
    try:
        return field.type.take(fields[name])
    except BadField as bad:
        value = str(fields[name])[:40]
        raise error(f"{name}: {bad.detail}", bad.allowed, name, value) from None


def _quote_value(value: Any) -> str:
    return repr(value)[:40]
