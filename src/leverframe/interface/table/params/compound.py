"""Types composed of other types: lists, records, types that depend on a field or the version."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct

from leverframe.core.profile import ALWAYS, Profile, Spans, is_offered, spans_in_words
from leverframe.interface.table.params.texts import Param, Seen
from leverframe.interface.table.refusals import BadValue, Malformed, Refusal
from leverframe.interface.table.shape import Item, with_plain_colons


class ListOf(Struct, frozen=True):
    """Items joined by a separator; their number must be right for the version."""

    item: Param
    #: The number of items; a function of the profile if versions differ.
    count: Any
    separator: str = "*"
    least: int | None = None

    def most(self, profile: Profile) -> int:
        return int(self.count(profile) if callable(self.count) else self.count)

    def _fits(self, count: int, profile: Profile) -> bool:
        most = self.most(profile)
        return count == most if self.least is None else self.least <= count <= most

    def parse(self, raw: str, profile: Profile, seen: Seen) -> tuple[Any, ...]:
        if self.least == 0 and raw == "":
            return ()
        parts = self._parts(raw)
        if not self._fits(len(parts), profile):
            raise BadValue(
                f"The list has {len(parts)} items.",
                value=raw if len(raw) < 80 else None,
                allowed=self.describe_allowed(profile),
            )
        return tuple(self.item.parse(part, profile, seen) for part in parts)

    def _parts(self, raw: str) -> list[str]:
        if self.separator == ":":
            raw = with_plain_colons(raw)
        return raw.split(self.separator) if self.separator else list(raw)

    def format(self, value: tuple[Any, ...], profile: Profile, seen: Seen) -> str:
        return self.separator.join(self.item.format(item, profile, seen) for item in value)

    def describe_allowed(self, profile: Profile) -> str:
        count = self.most(profile)
        number = f"{count}" if self.least is None else f"{self.least} to {count}"
        joined = f"joined by {self.separator}" if self.separator else "without separators"
        return f"{number} items {joined}, each {self.item.describe_allowed(profile)}"

    def schema(self, profile: Profile) -> dict[str, Any]:
        most = self.most(profile)
        return {
            "type": "array",
            "items": self.item.schema(profile),
            "minItems": most if self.least is None else self.least,
            "maxItems": most,
            "x-separator": self.separator,
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        most = self.most(profile)
        samples = self.item.examples(profile, seen)
        full = [self.separator.join([sample] * most) for sample in samples]
        return full if self.least is None else [*full, self.separator.join(samples[:1])]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        most = self.most(profile)
        good, *_ = self.item.examples(profile, seen)
        bad = self.item.bad_texts(profile, seen)[0]
        return [
            self.separator.join([good] * (most + 1)),
            self.separator.join([good] * (most - 1)) if self.least is None else bad,
            self.separator.join([bad] + [good] * (most - 1)),
        ]


class Record(Struct, frozen=True):
    """Several named fields joined by `*`, all of them required."""

    fields: tuple[tuple[str, Param], ...]

    def parse(self, raw: str, profile: Profile, seen: Seen) -> dict[str, Any]:
        parts = raw.split("*")
        if len(parts) != len(self.fields):
            raise BadValue(
                f"The value has {len(parts)} fields.", allowed=self.describe_allowed(profile)
            )
        return {
            name: param.parse(part, profile, seen)
            for (name, param), part in zip(self.fields, parts, strict=True)
        }

    def format(self, value: Mapping[str, Any], profile: Profile, seen: Seen) -> str:
        return "*".join(param.format(value[name], profile, seen) for name, param in self.fields)

    def describe_allowed(self, profile: Profile) -> str:
        named = ", ".join(
            f"{name} ({param.describe_allowed(profile)})" for name, param in self.fields
        )
        return f"{len(self.fields)} fields joined by *: {named}"

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: param.schema(profile) for name, param in self.fields},
            "x-separator": "*",
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        samples = [param.examples(profile, seen) for _, param in self.fields]
        return ["*".join(sample[0] for sample in samples), "*".join(s[-1] for s in samples)]

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        samples = [param.examples(profile, seen)[0] for _, param in self.fields]
        bad = self.fields[0][1].bad_texts(profile, seen)[0]
        return ["*".join(samples[:-1]), "*".join([bad, *samples[1:]]), ""]


class Depends(Struct, frozen=True):
    """A field whose type depends on the value of an earlier field."""

    on: str
    #: (values of the earlier field, the type for these values)
    cases: tuple[tuple[Collection[Any], Param], ...]

    def case(self, seen: Seen) -> Param:
        value = seen[self.on]
        return next(param for values, param in self.cases if value in values)

    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        return self.case(seen).parse(raw, profile, seen)

    def format(self, value: Any, profile: Profile, seen: Seen) -> str:
        return self.case(seen).format(value, profile, seen)

    def describe_allowed(self, profile: Profile) -> str:
        words = dict.fromkeys(param.describe_allowed(profile) for _, param in self.cases)
        return f"depending on {self.on}: " + "; or ".join(words)

    def schema(self, profile: Profile) -> dict[str, Any]:
        return {
            "x-depends": self.on,
            "oneOf": [
                param.schema(profile) | {"x-when": sorted(map(str, values))}
                for values, param in self.cases
            ],
        }

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return self.case(seen).examples(profile, seen)

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return self.case(seen).bad_texts(profile, seen)


class Changed(Struct, frozen=True):
    """A type that depends on the version: the first one whose spans include the profile applies."""

    versions: tuple[tuple[Spans, Param], ...]

    def pick(self, profile: Profile) -> Param:
        return next(param for spans, param in self.versions if is_offered(spans, profile))

    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        try:
            return self.pick(profile).parse(raw, profile, seen)
        except BadValue as refusal:
            raise self._of_another_version(raw, profile, seen) or refusal from None

    def _of_another_version(self, raw: str, profile: Profile, seen: Seen) -> BadValue | None:
        """Return a refusal with the versions that accept the value; None if no version does."""
        for spans, param in self.versions:
            if is_offered(spans, profile):
                continue
            try:
                param.parse(raw, profile, seen)
            except BadValue:
                continue
            words = spans_in_words(spans)
            return BadValue(
                f"{profile} does not have the value {raw}. Versions that have it: {words}.",
                value=raw,
                allowed=self.describe_allowed(profile),
            )
        return None

    def format(self, value: Any, profile: Profile, seen: Seen) -> str:
        return self.pick(profile).format(value, profile, seen)

    def describe_allowed(self, profile: Profile) -> str:
        return self.pick(profile).describe_allowed(profile)

    def schema(self, profile: Profile) -> dict[str, Any]:
        return self.pick(profile).schema(profile)

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return self.pick(profile).examples(profile, seen)

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return self.pick(profile).bad_texts(profile, seen)


class Trailing(Struct, frozen=True):
    """A trailing field that older versions do not have, and that is optional in newer versions.

    A missing field leaves its setting unchanged, because the client may not know the setting.
    """

    param: Param
    #: The value in versions without the field, and in a new entry.
    default: Any
    when: Spans = ALWAYS

    def parse(self, raw: str, profile: Profile, seen: Seen) -> Any:
        return self.param.parse(raw, profile, seen)

    def format(self, value: Any, profile: Profile, seen: Seen) -> str:
        return self.param.format(value, profile, seen)

    def describe_allowed(self, profile: Profile) -> str:
        return self.param.describe_allowed(profile)

    def schema(self, profile: Profile) -> dict[str, Any]:
        return self.param.schema(profile) | {"x-optional": True}

    def examples(self, profile: Profile, seen: Seen) -> list[str]:
        return self.param.examples(profile, seen)

    def bad_texts(self, profile: Profile, seen: Seen) -> list[str]:
        return self.param.bad_texts(profile, seen)


def has_field(param: Param, profile: Profile) -> bool:
    """Return whether the version has the field; trailing fields were added one after the other."""
    return not isinstance(param, Trailing) or is_offered(param.when, profile)


def item_of_version(item: Item, params: Mapping[str, Param], profile: Profile) -> Item:
    """Return a printed form without the trailing fields that this version does not have."""
    has = {letter: f"<{letter}>" for letter in item.holes if has_field(params[letter], profile)}
    return Item(item.write(has))


def optional_fields(params: Mapping[str, Param]) -> frozenset[str]:
    """Return the trailing fields of a form that are optional."""
    return frozenset(letter for letter, param in params.items() if isinstance(param, Trailing))


def split_fields(
    item: Item,
    value: str,
    params: Mapping[str, Param],
    profile: Profile,
    optional: frozenset[str],
    lists: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """Split a value into raw fields; a refusal shows the form of this version."""
    try:
        return item.split_value(value, optional, lists)
    except Malformed:
        printed = item_of_version(item, params, profile)
        return printed.split_value(value, optional, lists)


def parse_fields(
    letters: Iterable[str],
    params: Mapping[str, Param],
    texts: Mapping[str, str],
    profile: Profile,
    seen: dict[str, Any],
) -> None:
    """Add the values of a form's fields to `seen`, except those of missing trailing fields."""
    for letter in letters:
        param = params[letter]
        if isinstance(param, Trailing):
            if letter not in texts:
                continue
            _check_field(letter, param, texts[letter], profile)
        try:
            seen[letter] = param.parse(texts[letter], profile, seen)
        except Refusal as refusal:
            raise refusal.of("", letter) from None


def _check_field(letter: str, param: Trailing, text: str, profile: Profile) -> None:
    if not has_field(param, profile):
        raise BadValue(
            f"{profile} does not have the field {letter}; "
            f"it exists in {spans_in_words(param.when)}.",
            field=letter,
            value=text,
            allowed="the fields before it",
        )
