"""The command table as a whole: its rows fit the settings tree, their forms and each other."""

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from string import ascii_uppercase

import pytest

from leverframe.commands.accounts import CHANGE_PASSWORD, SIGN_IN, SIGN_OUT
from leverframe.commands.params import Changed, Depends, Int, Param, Position
from leverframe.commands.refusals import (
    Malformed,
    NotOffered,
    Refusal,
    UnknownCommand,
    Withdrawn,
    WrongMethod,
)
from leverframe.commands.row import ACCOUNT, ADMIN, ANYBODY, CONTROL, Row
from leverframe.commands.table import COMMAND_PATHS, TABLE, Call, find
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import value_at
from leverframe.profile import Profile
from tests.boundary_profiles import NEWEST, PROFILES, profiles_that_change
from tests.conformance.requests import Fields, Sample, accepted, misshapen, refused, takes

NUMBERED = [pytest.param(number, id=row.line) for number, row in enumerate(TABLE)]
HW30, HW35, OLD35 = Profile("3.0", "1.58a"), Profile("3.5", "1.60a"), Profile("3.5", "1.43e")


def find_all(target: str, profile: Profile = NEWEST, method: str = "GET") -> list[Call | Refusal]:
    path, _, query = target.partition("?")
    return list(find(method, path, query.split("&"), profile))


def find_one(target: str, profile: Profile = NEWEST, method: str = "GET") -> Call | Refusal:
    (found,) = find_all(target, profile, method)
    return found


def line_and_values(target: str, profile: Profile = NEWEST) -> tuple[str, dict[str, object]]:
    found = find_one(target, profile)
    assert isinstance(found, Call), found.detail
    return found.row.line.partition("?")[2], found.values


def profiles_of(number: int) -> list[Profile]:
    """Where the row looks different, and the newest; only those that offer it."""
    profiles = dict.fromkeys((*profiles_that_change(number), NEWEST))
    return [profile for profile in profiles if TABLE[number].offered(profile)]


# --- each row ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", NUMBERED)
def test_a_row_has_a_parameter_for_each_hole_of_its_form(number: int) -> None:
    row = TABLE[number]
    assert tuple(row.params) == row.form.holes()
    assert row.form.holes() == tuple(ascii_uppercase[: len(row.params)])


@pytest.mark.parametrize("number", NUMBERED)
def test_a_row_says_what_it_does(number: int) -> None:
    row = TABLE[number]
    assert re.fullmatch(r"[A-Z].*\.", row.doc)
    assert row.role in (ADMIN, CONTROL, ACCOUNT, ANYBODY)
    assert row.form.method in ("GET", "POST")
    assert (row.form.method == "POST") == (row.body is not None or row is SIGN_OUT)


@pytest.mark.parametrize("number", NUMBERED)
def test_a_row_sets_or_runs_something(number: int) -> None:
    row = TABLE[number]
    done_elsewhere = not row.form.items or row.form.items[0].text in ("signin", "signout")
    assert bool(row.sets or row.run) is not done_elsewhere


@pytest.mark.parametrize("number", NUMBERED)
def test_what_a_row_sets_exists_on_every_profile_that_offers_it(number: int) -> None:
    row = TABLE[number]
    for profile in PROFILES:
        if not (row.sets and row.offered(profile)):
            continue
        for _, values in Fields(row.line, row.params, profile).good():
            for letter, paths in row.sets.items():
                for path in paths:
                    here = value_at(defaults(profile), path.format_map(values))
                    assert type(here) is type(values[letter]), path


@pytest.mark.parametrize("number", NUMBERED)
def test_an_index_reaches_the_whole_list_of_the_profile(number: int) -> None:
    row = TABLE[number]
    for profile in PROFILES:
        for path in (path for paths in row.sets.values() for path in paths):
            branch, hole, _ = path.partition(".{A}")
            if hole and row.offered(profile):
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


@pytest.mark.parametrize("number", NUMBERED)
def test_a_dependent_field_has_a_case_for_every_value_it_depends_on(number: int) -> None:
    row = TABLE[number]
    for param in row.params.values():
        if isinstance(param, Depends):
            for profile in profiles_of(number):
                other = row.params[param.on]
                for text in other.examples(profile, {}):
                    assert param.case({param.on: other.parse(text, profile, {})})


@pytest.mark.parametrize("number", NUMBERED)
def test_a_row_takes_every_good_request_and_understands_it(number: int) -> None:
    row = TABLE[number]
    for profile in profiles_of(number) if row.form.items else ():
        samples = list(accepted(row, profile))
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


@pytest.mark.parametrize("number", NUMBERED)
def test_a_row_refuses_every_bad_request_and_names_the_field(number: int) -> None:
    row = TABLE[number]
    for profile in profiles_of(number) if row.form.items else ():
        for sample in (*refused(row, profile), *misshapen(row, profile)):
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
    # A slot 0 before a code or an ID is also a leading zero.
    ("modbus_sensor=<A><B>", "modbus_sensor=<A>"),
    ("modbusid=<A><B>", "modbusid=<A>"),
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
            first.offered(profile)
            and second.offered(profile)
            and fit_together(first, second, profile)
            for profile in PROFILES
        )
    }
    assert found == ALLOWED_OVERLAPS


def test_no_line_is_there_twice_on_one_profile() -> None:
    for profile in PROFILES:
        lines = [row.line for row in TABLE if row.offered(profile)]
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


def test_a_control_command_switches_and_configures_nothing() -> None:
    lines = [row.line.partition("?")[2] for row in TABLE if row.role == CONTROL]
    assert lines == [
        "pwm=pwm<A>",
        "pwm<A>=<B>",
        "pwmd=<A><B>",
        "out=out<A>",
        "out<A>=<B>",
        "vout<A>=<B>",
        "out=<A>",
        "pwm<A>=<B>",
    ]
    assert [row for row in TABLE if row.role == ANYBODY] == [SIGN_IN, SIGN_OUT]
    assert [row for row in TABLE if row.role == ACCOUNT] == [CHANGE_PASSWORD]


# --- finding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "profile", "line", "values"),
    [
        ("/stm.cgi?modbusid=12", HW30, "modbusid=<A>", {"A": 12}),
        ("/stm.cgi?modbusid=12", HW35, "modbusid=<A><B>", {"A": 1, "B": 2}),
        ("/stm.cgi?modbusid=7", HW35, "modbusid=<A>", {"A": 7}),
        ("/stm.cgi?modbusid=2247", HW35, "modbusid=<A><B>", {"A": 2, "B": 247}),
        ("/stm.cgi?modbus_sensor=2", HW35, "modbus_sensor=<A>", {"A": "SDM72D-M"}),
        ("/stm.cgi?modbus_sensor=12", HW35, "modbus_sensor=<A><B>", {"A": 1, "B": "SDM72D-M"}),
        ("/inpa.cgi?diffsel=512", HW35, "diffsel=<A><B>", {"A": 5, "B": "T1"}),
        ("/inpa.cgi?powsel=05", HW35, "powsel=<A><B>", {"A": 0, "B": "INPA6"}),
        ("/inpa.cgi?powsel=0*5", HW35, "powsel=<A>*<B>", {"A": 0, "B": "INPA6"}),
        ("/outs.cgi?out=out3", HW35, "out=out<A>", {"A": 3}),
        ("/outs.cgi?out=310", HW35, "out=<A>", {"A": "310"}),
        ("/stm.cgi?dswrite=0", HW35, "dswrite=0", {}),
        ("/eeprom.cgi?bit7=1", HW35, "bit<A>=<B>", {"A": 7, "B": 1}),
        ("/eeprom.cgi?bit3=1", HW35, "bit3=<A>", {"A": True}),
        ("/eeprom.cgi?word0=3", HW35, "word0=<A>", {"A": 30}),
    ],
)
def test_a_text_that_could_be_two_forms_is_the_right_one(
    target: str, profile: Profile, line: str, values: dict[str, object]
) -> None:
    assert line_and_values(target, profile) == (line, values)


@pytest.mark.parametrize("target", ["modbusid=45", "modbusid=200", "modbusid=300", "modbusid=00"])
def test_two_digits_are_never_an_id_alone_where_there_are_slots(target: str) -> None:
    found = find_one(f"/stm.cgi?{target}", HW35)
    assert isinstance(found, Refusal)
    assert found.status == 400


def test_commands_come_in_order_and_empty_items_do_not_matter() -> None:
    found = find_all("/outs.cgi?out0=1&&out=out1&out0=0&")
    assert [call.values for call in found if isinstance(call, Call)] == [
        {"A": 0, "B": 1},
        {"A": 1},
        {"A": 0, "B": 0},
    ]


def test_each_command_has_its_own_refusal() -> None:
    found = find_all("/outs.cgi?out0=1&out9=1&nothing=1&out1=1")
    assert [type(item) for item in found] == [Call, type(found[1]), UnknownCommand, Call]
    assert isinstance(found[1], Refusal)
    assert (found[1].command, found[1].field, found[1].value) == ("out9=1", "A", "9")


MAIL = "em1=host&em2=25&em3=u&em4=p&em5=to&em6=from&em7=Hello"


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        (f"{MAIL}&em8=a*b*c*d*e*f*g*h&em9=1", ["em9"]),
        (f"{MAIL}&em8=text", ["em8"]),
        (f"{MAIL}&em8=text&em1=other", ["em8", "em1"]),
        (MAIL, ["em1", "em2", "em3", "em4", "em5", "em6", "em7"]),
        ("em2=25&em1=host", ["em2", "em1"]),
    ],
)
def test_the_longest_mail_form_takes_the_items(query: str, lines: list[str]) -> None:
    found = find_all(f"/stm.cgi?{query}")
    assert all(isinstance(call, Call) for call in found)
    last_names = [call.row.form.items[-1].name.literals[0] for call in found]  # type: ignore[union-attr]
    assert last_names == lines


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (f"{MAIL}&em8=a*b*c*d*e*f*g&em9=1", "H"),
        (f"{MAIL}&em8=a*b*c*d*e*f*g*h*i&em9=1", "H"),
        (f"{MAIL}&em8=text&em9=1", "H"),
        (f"{MAIL}&em8=a*b*c*d*e*f*g*h&em9=2", "I"),
        (f"{MAIL}&em8=text".replace("em2=25", "em2=0"), "B"),
    ],
)
def test_a_bad_combined_form_is_not_taken_for_shorter_ones(query: str, field: str) -> None:
    (refusal,) = find_all(f"/stm.cgi?{query}")
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.field) == (400, field)


@pytest.mark.parametrize(
    ("target", "kind", "detail"),
    [
        ("/stm.cgi?nothing=1", UnknownCommand, "/stm.cgi has no command 'nothing'."),
        ("/stm.cgi?out0=1", UnknownCommand, "It exists under /outs.cgi."),
        ("/outs.cgi?oname=0x", UnknownCommand, "It exists under /stm.cgi."),
        ("/stm.cgi?em9=1", UnknownCommand, "/stm.cgi has no command 'em9'."),
        ("/stm.cgi?=1", UnknownCommand, "/stm.cgi has no command ''."),
        ("/stm.cgi?o%6Eame=0x", UnknownCommand, "/stm.cgi has no command 'o%6Eame'."),
        ("/post.cgi?oled_save", WrongMethod, "takes POST"),
        ("/stm.cgi?lightmod=2", Malformed, "lightmod=1 has no other form"),
        ("/stm.cgi?gsmsendsms=1", Malformed, "takes no value"),
        ("/stm.cgi?wdog1=1", Malformed, "wdog1 comes only together with others"),
    ],
)
def test_what_cannot_be_found_is_said_plainly(target: str, kind: type, detail: str) -> None:
    found = find_one(target)
    assert type(found) is kind
    assert isinstance(found, Refusal)
    assert detail in found.detail


@pytest.mark.parametrize(
    ("target", "profile", "kind", "naming"),
    [
        ("/stm.cgi?pwmt=05", HW30, NotOffered, "HW 3.5+ SW 1.30+"),
        ("/stm.cgi?diffname=0x", OLD35, NotOffered, "HW 3.5+ SW 1.60a+"),
        ("/inpa.cgi?powsel=0*5", OLD35, NotOffered, "HW 3.5+ SW 1.49+"),
        ("/inpa.cgi?diffsel=0*1*2*3", OLD35, NotOffered, "HW 3.5+ SW 1.49+"),
        ("/inpa.cgi?diffzsel=01", HW35, Withdrawn, "before SW 1.49"),
        ("/stm.cgi?oled=1*a*b*c*d", HW35, Withdrawn, "before SW 1.44"),
    ],
)
def test_a_form_of_another_version_names_the_version(
    target: str, profile: Profile, kind: type, naming: str
) -> None:
    found = find_one(target, profile)
    assert type(found) is kind
    assert isinstance(found, Refusal)
    assert naming in found.detail
    assert str(profile) in found.detail


def test_a_bad_value_is_told_before_a_form_that_does_not_fit() -> None:
    refusal = find_one("/outs.cgi?out=6")
    assert isinstance(refusal, Refusal)
    assert (refusal.field, refusal.allowed) == ("A", "1 to 6 characters, digits 0 to 5")


def test_any_command_may_be_posted() -> None:
    assert isinstance(find_one("/outs.cgi?out0=1", method="POST"), Call)


@pytest.mark.parametrize(
    ("target", "profile", "kind"),
    [
        ("/stm.cgi?" + "x" * 300, NEWEST, UnknownCommand),
        ("/stm.cgi?oname=0" + "x" * 300, NEWEST, Refusal),
        ("/post.cgi?sched_save=" + "x" * 300, NEWEST, Malformed),
        ("/inpa.cgi?diffzsel=" + "1" * 300, NEWEST, Withdrawn),
        ("/stm.cgi?modbusmapping=" + "1" * 300, HW30, NotOffered),
    ],
)
def test_a_long_command_is_shortened_in_its_refusal(
    target: str, profile: Profile, kind: type[Refusal]
) -> None:
    refusal = find_one(target, profile)
    assert isinstance(refusal, kind)
    assert len(refusal.command or "") == 120


# --- the order -----------------------------------------------------------------------------------


def test_a_row_with_a_meaning_of_its_own_comes_before_the_general_one() -> None:
    places = {row.line: number for number, row in enumerate(TABLE)}
    for special, general in (
        ("GET /eeprom.cgi?bit0=<A>", "GET /eeprom.cgi?bit<A>=<B>"),
        ("GET /eeprom.cgi?byte0=<A>", "GET /eeprom.cgi?byte<A>=<B>"),
        ("GET /eeprom.cgi?word0=<A>", "GET /eeprom.cgi?word<A>=<B>"),
        ("GET /outs.cgi?out=out<A>", "GET /outs.cgi?out=<A>"),
        ("GET /stm.cgi?modbusid=<A><B>", "GET /stm.cgi?modbusid=<A>"),
    ):
        assert places[special] < places[general]


def test_of_forms_that_begin_alike_the_longest_comes_first() -> None:
    lengths = [len(row.form.items) for row in TABLE if row.form.items[:1] and "em1=" in row.line]
    assert all(longer >= shorter for longer, shorter in pairwise(lengths))
