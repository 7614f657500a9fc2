"""The command table as a whole: its rows fit the settings tree, their forms and each other."""

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from string import ascii_uppercase

import pytest

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, value_at
from leverframe.interface.table.accounts import CHANGE_PASSWORD, SIGN_IN, SIGN_OUT
from leverframe.interface.table.lookup import COMMAND_PATHS, TABLE, Call, find
from leverframe.interface.table.params import Changed, Depends, Int, Param, Position
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import ACCOUNT, ADMIN, ANYONE, CONTROL, Row
from tests.boundary_profiles import NEWEST, PROFILES, profiles_that_change
from tests.cases import for_each
from tests.conformance.requests import (
    Fields,
    Sample,
    make_bad_samples,
    make_good_samples,
    misshapen,
    takes,
)
from tests.effort import some_of

NUMBERED = [pytest.param(number, id=row.line) for number, row in enumerate(TABLE)]


def profiles_of(number: int) -> list[Profile]:
    """Where the row looks different, and the newest; only those that offer it."""
    profiles = dict.fromkeys((*profiles_that_change(number), NEWEST))
    return [profile for profile in profiles if TABLE[number].is_offered(profile)]


# --- each row ------------------------------------------------------------------------------------


@for_each("number", NUMBERED)
def test_row_has_a_parameter_for_each_hole_of_its_form(number: int) -> None:
    row = TABLE[number]
    assert tuple(row.params) == row.form.holes
    assert row.form.holes == tuple(ascii_uppercase[: len(row.params)])


@for_each("number", NUMBERED)
def test_row_says_what_it_does(number: int) -> None:
    row = TABLE[number]
    assert re.fullmatch(r"[A-Z].*\.", row.doc)
    assert row.role in (ADMIN, CONTROL, ACCOUNT, ANYONE)
    assert row.form.method in ("GET", "POST")
    assert (row.form.method == "POST") == (row.body is not None or row is SIGN_OUT)


@for_each("number", NUMBERED)
def test_row_sets_or_runs_something(number: int) -> None:
    row = TABLE[number]
    done_elsewhere = not row.form.items or row.form.items[0].text in ("signin", "signout")
    assert bool(row.sets or row.run) is not done_elsewhere


@for_each("number", NUMBERED)
def test_setting_of_a_row_exists_on_every_profile_that_offers_it(number: int) -> None:
    row = TABLE[number]
    for profile in dict.fromkeys((*profiles_of(number), *some_of(PROFILES))):
        if not (row.sets and row.is_offered(profile)):
            continue
        for _, values in Fields(row.line, row.params, profile).good():
            for letter, paths in row.sets.items():
                for path in paths if letter in values else ():
                    here = value_at(defaults(profile), path.format_map(values))
                    assert type(here) is type(values[letter]), path


@for_each("number", NUMBERED)
def test_index_reaches_the_whole_list_of_the_profile(number: int) -> None:
    row = TABLE[number]
    for profile in PROFILES:
        for path in (path for paths in row.sets.values() for path in paths):
            branch, hole, _ = path.partition(".{A}")
            if hole and row.is_offered(profile):
                length = len(value_at(defaults(profile), branch))
                assert set(indices(row.params["A"], profile)) <= set(range(length))
                assert max(indices(row.params["A"], profile)) == length - 1


def indices(param: Param, profile: Profile) -> list[int]:
    match param:
        case Changed():
            return indices(param.pick(profile), profile)
        case Position():
            return param.free(profile)
        case Int(lo, hi):
            return list(range(lo, hi + 1))
    raise AssertionError(param)


@for_each("number", NUMBERED)
def test_dependent_field_has_a_case_for_every_value_it_depends_on(number: int) -> None:
    row = TABLE[number]
    for param in row.params.values():
        if isinstance(param, Depends):
            for profile in profiles_of(number):
                other = row.params[param.on]
                for text in other.examples(profile, {}):
                    assert param.case({param.on: other.parse(text, profile, {})})


@for_each("number", NUMBERED)
def test_row_takes_every_good_request_and_understands_it(number: int) -> None:
    row = TABLE[number]
    for profile in profiles_of(number) if row.form.items else ():
        samples = list(make_good_samples(row, profile))
        assert samples
        for sample in samples:
            (found,) = find(sample.method, sample.path, sample.items, profile)
            assert isinstance(found, Call), f"{sample}: {found.detail}"
            assert found.row is row
            understood = (
                row.body.read(sample.body, sample.content_type, profile)
                if row.body
                else found.values
            )
            assert understood == sample.values, sample


@for_each("number", NUMBERED)
def test_row_refuses_every_bad_request_and_names_the_field(number: int) -> None:
    row = TABLE[number]
    for profile in profiles_of(number) if row.form.items else ():
        for sample in (*make_bad_samples(row, profile), *misshapen(row, profile)):
            refusal = refusal_of(sample)
            assert refusal.status == 400, sample
            assert refusal.allowed, sample
            assert sample.field is None or refusal.field == sample.field, sample


def refusal_of(sample: Sample) -> Refusal:
    for found in find(sample.method, sample.path, sample.items, sample.profile):
        if isinstance(found, Refusal):
            return found
    assert sample.row.body is not None, f"{sample} was accepted"
    with pytest.raises(Refusal) as refusal:
        sample.row.body.read(sample.body, sample.content_type, sample.profile)
    return refusal.value


# --- the rows among each other -------------------------------------------------------------------

#: Pairs of rows that some version offers both and some text fits both; the first one takes it.
ALLOWED_OVERLAPS = {
    # A slot 0 before a code is also a leading zero.
    ("modbus_sensor=<A><B>", "modbus_sensor=<A>"),
    # The printed bitrate is one of those that the meters have.
    ("sdm120bitrate=9600", "sdm120bitrate=<A>"),
    # A longer mail form begins like every shorter one.
    ("em1=<A>&...&em9=<I>", "em1=<A>&...&em8=<H>"),
    ("em1=<A>&...&em9=<I>", "em1=<A>"),
    ("em1=<A>&...&em8=<H>", "em1=<A>"),
}


def short_form(row: Row) -> str:
    texts = [item.text for item in row.form.items]
    return texts[0] if len(texts) == 1 else f"{texts[0]}&...&{texts[-1]}"


def namesakes() -> Iterator[tuple[Row, Row]]:
    """Pairs of rows whose first names can be the same."""
    commands = [row for row in TABLE if row.form.items]
    for first, second in combinations(commands, 2):
        if first.form.path == second.form.path and (
            can_be_called(first, second) or can_be_called(second, first)
        ):
            yield first, second


def can_be_called(row: Row, like: Row) -> bool:
    name = like.form.items[0].name
    written = name.write(dict.fromkeys(name.holes, "0"))
    return row.form.items[0].match_name(written) is not None


def fit_together(first: Row, second: Row, profile: Profile) -> bool:
    return any(
        takes_quietly(other, target.partition("?")[2].split("&"), profile)
        for row, other in ((first, second), (second, first))
        for target in (row.form.write(texts) for texts, _ in fields_of(row, profile).good())
    )


def fields_of(row: Row, profile: Profile) -> Fields:
    return Fields(row.line, row.params, profile)


def takes_quietly(row: Row, items: list[str], profile: Profile) -> bool:
    try:
        return takes(row, items, profile)
    except Refusal:
        return False


def test_rows_overlap_only_where_that_was_decided() -> None:
    found = {
        (short_form(first), short_form(second))
        for first, second in namesakes()
        if any(
            first.is_offered(profile)
            and second.is_offered(profile)
            and fit_together(first, second, profile)
            for profile in PROFILES
        )
    }
    assert found == ALLOWED_OVERLAPS


def test_no_line_is_there_twice_on_one_profile() -> None:
    for profile in PROFILES:
        lines = [row.line for row in TABLE if row.is_offered(profile)]
        assert len(set(lines)) == len(lines)


def test_every_printed_name_stands_under_one_path_only_or_is_an_alias() -> None:
    paths: dict[str, set[str]] = {}
    for row in TABLE:
        for item in row.form.items:
            paths.setdefault(item.name.literals[0], set()).add(row.form.path)
    assert {name: where for name, where in paths.items() if len(where) > 1} == {
        "pwm": {"/outs.cgi", "/stm.cgi"}
    }


def test_commands_have_five_paths() -> None:
    assert sorted(COMMAND_PATHS) == [
        "/eeprom.cgi",
        "/inpa.cgi",
        "/outs.cgi",
        "/post.cgi",
        "/stm.cgi",
    ]


def test_control_command_switches_and_configures_nothing() -> None:
    lines = [row.line.partition("?")[2] for row in TABLE if row.role == CONTROL]
    assert lines == [
        "pwm=pwm<A>",
        "pwm<A>=<B>",
        "pwmd=<A><B>",
        "out=out<A>",
        "out<A>=<B>",
        "vout<A>=<B>",
        "pulse<A>=<B>",
        "out=<A>",
        "pwm<A>=<B>",
    ]
    assert [row for row in TABLE if row.role == ANYONE] == [SIGN_IN, SIGN_OUT]
    assert [row for row in TABLE if row.role == ACCOUNT] == [CHANGE_PASSWORD]


# --- the order -----------------------------------------------------------------------------------


def test_row_with_a_meaning_of_its_own_comes_before_the_general_one() -> None:
    places = {row.line: number for number, row in enumerate(TABLE)}
    for special, general in (
        ("GET /eeprom.cgi?bit0=<A>", "GET /eeprom.cgi?bit<A>=<B>"),
        ("GET /eeprom.cgi?byte0=<A>", "GET /eeprom.cgi?byte<A>=<B>"),
        ("GET /eeprom.cgi?word0=<A>", "GET /eeprom.cgi?word<A>=<B>"),
        ("GET /outs.cgi?out=out<A>", "GET /outs.cgi?out=<A>"),
        ("GET /stm.cgi?modbusid=<A><B>", "GET /stm.cgi?modbusid=<A>"),
    ):
        assert places[special] < places[general]


def test_longest_of_forms_that_begin_alike_comes_first() -> None:
    lengths = [len(row.form.items) for row in TABLE if row.form.items[:1] and "em1=" in row.line]
    assert all(longer >= shorter for longer, shorter in pairwise(lengths))
