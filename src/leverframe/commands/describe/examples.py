"""One exact request for every row, for the reference and for what others build from the table.

The texts follow from the parameter types. Where a type cannot know what reads well (a port, a rule
that makes sense), the row has an `example`; such a text is used only on versions that take it.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from leverframe.commands.table.bodies import FormBody, ListBody
from leverframe.commands.table.params import (
    Base64Text,
    Changed,
    Depends,
    Flag,
    Int,
    ListOf,
    Param,
    Record,
    Scaled,
    Text,
    Trailing,
    Word,
)
from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.row import Row
from leverframe.profile import Profile, is_offered


class Filled(Struct, frozen=True):
    """Fields with an example each: the texts that are sent, and the values they stand for."""

    texts: dict[str, str]
    values: dict[str, Any]


def example_texts(row: Row, profile: Profile) -> dict[str, str]:
    """Return the wire text of every field that this version of the row has."""
    return fill(row.params, row.example, profile).texts


def example_request(row: Row, profile: Profile) -> str:
    """Write method, path and query: `GET /stm.cgi?oname=1Pump`."""
    return f"{row.form.method} {row.form.write(example_texts(row, profile))}"


def example_body(row: Row, profile: Profile) -> str | None:
    """Write the body of a row that takes one, unless it is a file."""
    texts = example_body_texts(row, profile)
    if isinstance(row.body, ListBody):
        return row.body.write([texts]).decode()
    if isinstance(row.body, FormBody):
        return "&".join(f"{name}={text}" for name, text in texts.items())
    return None


def example_body_texts(row: Row, profile: Profile) -> dict[str, str]:
    """Return the wire text of every field of the body; none where there is no body with fields."""
    match row.body:
        case ListBody(_, params) | FormBody(params):
            return fill(params, row.example, profile).texts
        case _:
            return {}


def fill(params: Mapping[str, Param], chosen: Mapping[str, str], profile: Profile) -> Filled:
    """Fill every field with its chosen text where this version takes it, else with a typical one.

    A trailing field that this version does not have gets no text, but its default value.
    """
    texts: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, param in params.items():
        if isinstance(param, Trailing) and not is_offered(param.when, profile):
            values[name] = param.default
            continue
        text = chosen.get(name)
        if text is None or not _takes(param, text, profile, values):
            text = typical(param, profile, values)
        texts[name] = text
        values[name] = param.parse(text, profile, values)
    return Filled(texts, values)


def _takes(param: Param, text: str, profile: Profile, seen: Mapping[str, Any]) -> bool:
    try:
        param.parse(text, profile, seen)
    except Refusal:
        return False
    return True


def typical(param: Param, profile: Profile, seen: Mapping[str, Any]) -> str:
    """Return a typical text rather than a limit."""
    match param:
        case Int(lo, hi):
            return str(_typical_number(lo, hi))
        case Flag():
            return "1"
        case Scaled(factor, lo, hi):
            return str(min(max(lo, 20 * factor), hi))
        case Text() if param.pattern:
            return param.format(max(param.fitting, key=bool), profile, seen)
        case Text():
            return "Pump"[: param.most]
        case Base64Text():
            return param.format("admin"[: param.most], profile, seen)
        case Word(table):
            # Code 0 often stands for nothing.
            return str(table.of(profile)[:2][-1].number)
        case ListOf():
            count = param.most(profile) if param.least is None else 1
            return param.separator.join([typical(param.item, profile, seen)] * count)
        case Record(fields):
            return "*".join(typical(field, profile, seen) for _, field in fields)
        case Depends():
            return typical(param.case(seen), profile, seen)
        case Changed():
            return typical(param.pick(profile), profile, seen)
        case Trailing(inner):
            return typical(inner, profile, seen)
        case _:
            return param.examples(profile, seen)[0]


def _typical_number(lo: int, hi: int) -> int:
    """Return the second of a short range, middle of a middling one, a minute of a long one."""
    if hi - lo < 50:
        return min(lo + 1, hi)
    return (lo + hi) // 2 if hi - lo < 256 else min(max(lo, 60), hi)
