"""Finding the row of a request: the right one of several forms, or a refusal that says why."""

from leverframe.core.profile import Profile
from leverframe.interface.table.lookup import Call, find, items_of, without_value
from leverframe.interface.table.refusals import (
    Malformed,
    NotOffered,
    Refusal,
    UnknownCommand,
    Withdrawn,
    WrongMethod,
)
from tests.boundary_profiles import NEWEST
from tests.cases import for_each

EVENT_OF_HW30 = "event=" + "*".join(f"<{letter}>" for letter in "ABCDEFGHIJKL")
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


@for_each(
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
def test_text_that_could_be_two_forms_is_the_right_one(
    target: str, profile: Profile, line: str, values: dict[str, object]
) -> None:
    assert line_and_values(target, profile) == (line, values)


@for_each("target", ["modbusid=45", "modbusid=200", "modbusid=300", "modbusid=00"])
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


@for_each(
    ("query", "lines"),
    [
        (f"{MAIL}&em8=a*b*c*d*e*f*g*h&em9=1", ["em9"]),
        (f"{MAIL}&em8=text", ["em8"]),
        (f"{MAIL}&em8=text&em1=other", ["em8", "em1"]),
        (MAIL, ["em1", "em2", "em3", "em4", "em5", "em6", "em7"]),
        ("em2=25&em1=host", ["em2", "em1"]),
    ],
)
def test_longest_mail_form_takes_the_items(query: str, lines: list[str]) -> None:
    found = find_all(f"/stm.cgi?{query}")
    assert all(isinstance(call, Call) for call in found)
    last_names = [call.row.form.items[-1].name.literals[0] for call in found]  # type: ignore[union-attr]
    assert last_names == lines


@for_each(
    ("query", "field"),
    [
        (f"{MAIL}&em8=a*b*c*d*e*f*g&em9=1", "H"),
        (f"{MAIL}&em8=a*b*c*d*e*f*g*h*i&em9=1", "H"),
        (f"{MAIL}&em8=text&em9=1", "H"),
        (f"{MAIL}&em8=a*b*c*d*e*f*g*h&em9=2", "I"),
        (f"{MAIL}&em8=text".replace("em2=25", "em2=0"), "B"),
    ],
)
def test_bad_combined_form_is_not_taken_for_shorter_ones(query: str, field: str) -> None:
    (refusal,) = find_all(f"/stm.cgi?{query}")
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.field) == (400, field)


@for_each(
    ("target", "kind", "detail"),
    [
        ("/stm.cgi?nothing=1", UnknownCommand, "/stm.cgi has no command 'nothing'."),
        ("/stm.cgi?out0=1", UnknownCommand, "It exists under /outs.cgi."),
        ("/outs.cgi?oname=0x", UnknownCommand, "It exists under /stm.cgi."),
        ("/stm.cgi?em9=1", UnknownCommand, "/stm.cgi has no command 'em9'."),
        ("/stm.cgi?=1", UnknownCommand, "/stm.cgi has no command ''."),
        ("/stm.cgi?o%6Eame=0x", UnknownCommand, "/stm.cgi has no such command."),
        ("/post.cgi?oled_save", WrongMethod, "requires POST"),
        ("/stm.cgi?lightmod=2", Malformed, "lightmod=1 accepts no other form"),
        ("/stm.cgi?gsmsendsms=1", Malformed, "does not accept a value"),
        ("/stm.cgi?wdog1=1", Malformed, "wdog1 is valid only together with other commands"),
    ],
)
def test_unknown_search_is_reported_plainly(target: str, kind: type, detail: str) -> None:
    found = find_one(target)
    assert type(found) is kind
    assert isinstance(found, Refusal)
    assert detail in found.detail


@for_each(
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
def test_form_of_another_version_names_the_version(
    target: str, profile: Profile, kind: type, naming: str
) -> None:
    found = find_one(target, profile)
    assert type(found) is kind
    assert isinstance(found, Refusal)
    assert naming in found.detail
    assert str(profile) in found.detail


def test_bad_value_is_reported_before_a_form_that_does_not_fit() -> None:
    refusal = find_one("/outs.cgi?out=6")
    assert isinstance(refusal, Refusal)
    assert (refusal.field, refusal.allowed) == ("A", "1 to 6 characters, digits 0 to 5")


@for_each(
    ("target", "profile", "allowed"),
    [
        ("/stm.cgi?dswrite=1", NEWEST, "dswrite=0 or dswrite=<A>:<B>"),
        ("/inpa.cgi?diffsel=0*1*2", NEWEST, "diffsel=<A>*<B>*<C>*<D> or diffsel=<A><B>"),
        ("/inpa.cgi?powsel=11*10*1", NEWEST, "powsel=<A>*<B> or powsel=<A><B>"),
        ("/eeprom.cgi?bit9=1", NEWEST, "0 to 7"),
        ("/eeprom.cgi?byte4=1", NEWEST, "0 to 3"),
        ("/eeprom.cgi?word4=1", NEWEST, "0 to 3"),
        ("/inpa.cgi?sensor=014", NEWEST, "INPA1-INPA4 sensor codes 0-13, 15-20"),
        ("/inpa.cgi?event=0*1", HW30, EVENT_OF_HW30),
        ("/inpa.cgi?event=" + "*".join("0" * 17), HW30, EVENT_OF_HW30),
    ],
)
def test_refusal_names_all_that_the_version_takes(
    target: str, profile: Profile, allowed: str
) -> None:
    refusal = find_one(target, profile)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.allowed) == (400, allowed)


@for_each(
    ("target", "detail"),
    [
        ("/stm.cgi?dswrite=1", "The request matches no form of the command dswrite."),
        ("/inpa.cgi?diffsel=0*1*2", "has 4 fields; the request has 3"),
        ("/inpa.cgi?powsel=11*10*1", "powsel=<A>*<B> has 2 fields"),
        ("/stm.cgi?dswrite=9%3A0", "9 is outside 1 to 8."),
        ("/inpa.cgi?sensor=014", "14 is not a INPA1-INPA4 sensor code"),
    ],
)
def test_refusal_is_about_the_form_that_was_meant(target: str, detail: str) -> None:
    refusal = find_one(target)
    assert isinstance(refusal, Refusal)
    assert detail in refusal.detail


@for_each(
    "target", ["/outs.cgi?out00=1", "/outs.cgi?out=out00", "/outs.cgi?atout=006*5", "out0=01"]
)
def test_number_that_chooses_is_not_padded(target: str) -> None:
    refusal = find_one(target if target.startswith("/") else f"/outs.cgi?{target}")
    assert isinstance(refusal, Refusal)
    assert "has more characters than" in refusal.detail


def test_quantity_may_be_padded() -> None:
    assert line_and_values("/outs.cgi?ortime=00060")[1] == {"A": 0, "B": 60}
    assert line_and_values("/outs.cgi?atout=06*007")[1] == {"A": 6, "B": 7}


def test_any_command_may_be_posted() -> None:
    assert isinstance(find_one("/outs.cgi?out0=1", method="POST"), Call)


@for_each(
    ("target", "profile", "kind"),
    [
        ("/stm.cgi?oname=0" + "x" * 300, NEWEST, Refusal),
        ("/post.cgi?sched_save=" + "x" * 300, NEWEST, Malformed),
        ("/inpa.cgi?diffzsel=" + "1" * 300, NEWEST, Withdrawn),
        ("/stm.cgi?modbusmapping=" + "1" * 300, HW30, NotOffered),
    ],
)
def test_long_command_is_shortened_in_its_refusal(
    target: str, profile: Profile, kind: type[Refusal]
) -> None:
    refusal = find_one(target, profile)
    assert isinstance(refusal, kind)
    assert len(refusal.command or "") == 120


@for_each(
    ("query", "items"),
    [
        (
            "sensor=01calibration=010multiplier=0150",
            ["sensor=01", "calibration=010", "multiplier=0150"],
        ),
        ("calibration=010multiplier=0150", ["calibration=010", "multiplier=0150"]),
        ("sensor=01&out0=1", ["sensor=01", "out0=1"]),
        ("out0=1&out1=1", ["out0=1", "out1=1"]),
    ],
)
def test_joined_settings_of_an_input_are_distinguished(query: str, items: list[str]) -> None:
    assert items_of(query) == items


def test_command_is_shown_as_it_was_sent_unless_it_holds_a_secret() -> None:
    call = find_one("/outs.cgi?out0=1")
    assert isinstance(call, Call)
    assert call.text == "out0=1"


@for_each(
    ("sent", "shown"),
    [
        ("em4=hunter2", "em4=..."),
        ("em42=hunter2", "em=..."),
        ("gsmcode=1234", "gsmcode=..."),
        ("hunter2", None),
    ],
)
def test_setting_with_a_secret_is_shown_by_name_and_place_only(
    sent: str, shown: str | None
) -> None:
    assert without_value(sent) == shown
