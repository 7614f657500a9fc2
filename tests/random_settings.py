"""Random settings trees of a version, made the only way that counts: by random commands."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from leverframe.core.profile import Profile, is_offered
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults
from leverframe.interface.table.bodies import FormBody, ListBody, Upload
from leverframe.interface.table.lookup import TABLE, Call, find
from leverframe.interface.table.params import (
    Changed,
    Depends,
    Int,
    ListOf,
    Param,
    Text,
    Trailing,
    encode_text,
)
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import Row
from leverframe.interface.table.stage import Stage

LETTERS = "abcXYZ 019*&=+%!\"'.:/_-ąóżß漢😀"
RESETS = "eeprom_reset"


class AnyHash(Mapping[str, str]):
    """Every password has a hash, without the time that hashing takes."""

    def __getitem__(self, password: str) -> str:
        return f"$argon2id$v=19$m=19456,t=2,p=1${abs(hash(password)):x}$c29tZWhhc2g"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def random_settings(
    profile: Profile, random: Random, commands: int = 60, rows: Sequence[Row] = TABLE
) -> Settings:
    rows = [row for row in rows if _changes_settings(row)]
    return random_stage(profile, defaults(profile), random, commands, rows).settings


def random_stage(
    profile: Profile,
    settings: Settings,
    random: Random,
    commands: int,
    rows: Sequence[Row] = TABLE,
) -> Stage:
    """What random commands do to these settings; those that are refused do nothing."""
    stage = Stage(profile, settings, None, AnyHash())
    rows = [row for row in rows if row.is_offered(profile) and not isinstance(row.body, Upload)]
    for row in random.choices(rows, k=commands):
        try:
            _perform(stage, row, profile, random)
        except Refusal:
            continue
    return stage


def _changes_settings(row: Row) -> bool:
    changes = bool(row.sets) or row.run is not None
    return changes and not isinstance(row.body, Upload) and RESETS not in row.line


def _perform(stage: Stage, row: Row, profile: Profile, random: Random) -> None:
    if isinstance(row.body, ListBody):
        items = [
            _texts(row.body.item.holes, row.body.params, profile, random)
            for _ in range(random.randint(0, 4))
        ]
        row.perform(stage, {}, row.body.read(row.body.write(items), "", profile))
    elif isinstance(row.body, FormBody):
        names = random.sample(sorted(row.body.fields), k=random.randint(1, len(row.body.fields)))
        pairs = (f"{name}={_text(row.body.fields[name], profile, {}, random)}" for name in names)
        row.perform(stage, {}, row.body.read("&".join(pairs).encode(), "", profile))
    else:
        for call in find("GET", row.form.path, _items(row, profile, random), profile):
            if isinstance(call, Call):
                call.row.perform(stage, call.values)


def _items(row: Row, profile: Profile, random: Random) -> list[str]:
    texts = _texts(row.form.holes, row.params, profile, random)
    return row.form.write(texts).partition("?")[2].split("&")


def _texts(
    holes: tuple[str, ...], params: Mapping[str, Param], profile: Profile, random: Random
) -> dict[str, str]:
    texts: dict[str, str] = {}
    seen: dict[str, Any] = {}
    for letter in holes:
        param = params[letter]
        if isinstance(param, Trailing) and not is_offered(param.when, profile):
            texts[letter] = param.format(param.default, profile, seen)
            continue
        texts[letter] = _text(param, profile, seen, random)
        seen[letter] = param.parse(texts[letter], profile, seen)
    return texts


def _text(param: Param, profile: Profile, seen: dict[str, Any], random: Random) -> str:
    match param:
        case Changed():
            return _text(param.pick(profile), profile, seen, random)
        case Depends():
            return _text(param.case(seen), profile, seen, random)
        case Trailing(inner):
            return _text(inner, profile, seen, random)
        case ListOf(item, separator=separator) if param.least is None:
            places = range(param.most(profile))
            return separator.join(_text(item, profile, seen, random) for _ in places)
        case Int(lo, hi):
            return str(random.randint(lo, hi))
        case Text(most, pattern=None):
            length = random.randint(param.least, most)
            return encode_text("".join(random.choices(LETTERS, k=length)))
        case _:
            return random.choice(param.examples(profile, seen))
