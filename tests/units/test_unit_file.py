"""Unit files: they are read as written, and every mistake is reported with its line."""

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import ControlUser, Rule, ScheduleEntry, Settings
from leverframe.core.tree import CONFIDENTIAL, defaults, difference, leaves, pattern_of, with_value
from leverframe.units.file_keys import (
    DURATIONS,
    PLACES,
    BadUnitFile,
    key_of,
    value_for_file,
    value_from_file,
)
from leverframe.units.file_loader import load_unit_file
from leverframe.units.unit_text import unit_text
from tests.effort import some_of
from tests.random_settings import random_settings
from tests.units.unit_files import PROFILES, mistakes, read_back, write_unit_file

NEWEST = Profile()
HW30 = Profile("3.0", "1.58a")


@pytest.mark.parametrize("profile", some_of(PROFILES), ids=str)
def test_settings_written_and_read_are_the_same(profile: Profile, tmp_path: Path) -> None:
    settings = random_settings(profile, Random(str(profile)), 100)
    file = read_back(tmp_path, unit_text(settings, profile))
    assert list(difference(settings, file.settings)) == []
    assert (file.profile, file.complete) == (profile, True)


def test_only_what_differs_from_the_factory_settings_is_written() -> None:
    settings = with_value(defaults(NEWEST), "outputs.2.return_time", 5400)
    text = unit_text(settings, NEWEST).text
    assert text.splitlines()[-2:] == ["[outputs.OUT2]", 'return_time = "1h30m"']
    assert unit_text(defaults(NEWEST), NEWEST).text.splitlines()[-1] == "complete = true"


def test_no_secret_stands_in_the_text() -> None:
    settings = with_value(
        defaults(NEWEST), "access.users", (ControlUser("eve", "hush-user", True), *[None] * 49)
    )
    paths = [path for path, _ in leaves(settings) if pattern_of(path) in CONFIDENTIAL]
    for path in paths:
        settings = with_value(settings, path, f"hush-{path}")
    written_text = unit_text(settings, NEWEST)
    assert "hush" not in written_text.text
    assert written_text.secrets == {key_of(path): f"hush-{path}" for path in paths}


def test_unread_settings_are_not_written(tmp_path: Path) -> None:
    settings = with_value(defaults(NEWEST), "email.host", "mail.example")
    text = unit_text(settings, NEWEST, unread=["email"])
    assert "mail.example" not in text.text
    file = read_back(tmp_path, text)
    assert not file.names("email.host")
    assert file.names("mqtt.host")
    assert not file.names("mqtt.password")


def test_unread_parts_of_a_rule_stay_unchanged(tmp_path: Path) -> None:
    read = with_value(defaults(NEWEST), "rules", (Rule(source="DS1"), Rule(source="DS2")))
    text = unit_text(read, NEWEST, unread=["rules.0.permanent", "rules.1"])
    assert 'unread = ["rules.1.permanent", "rules.2"]' in text.text
    file = read_back(tmp_path, text)
    present = with_value(defaults(NEWEST), "rules", (Rule(permanent=True), Rule(source="DS3")))
    assert file.over(present).rules == (Rule(source="DS1", permanent=True), Rule(source="DS3"))


def test_rule_has_the_place_that_its_number_says(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, '[rules]\n4 = "when INPD1 < 1, then OUT0 on"\n')
    settings = load_unit_file(path).settings
    assert settings.rules[:3] == (None,) * 3
    assert settings.rules[3] == Rule(source="INPD1", compare="<", reference=1.0, enabled=True)
    again = read_back(tmp_path, unit_text(settings, NEWEST))
    assert again.settings.rules == settings.rules
    assert again.over(with_value(defaults(NEWEST), "rules", (Rule(),))).rules == settings.rules


@pytest.mark.parametrize("key", ["emial", "outputs.OUT9", "name.x", "rules.1.nothing"])
def test_unknown_part_in_unread_is_reported(key: str, tmp_path: Path) -> None:
    (mistake,) = mistakes(write_unit_file(tmp_path, f'complete = true\nunread = ["{key}"]\n'))
    assert mistake == f"unit.toml, line 2: unread: unknown key {key}."


def test_words_of_a_file_are_those_of_people(tmp_path: Path) -> None:
    path = write_unit_file(
        tmp_path,
        """\
        hardware = "3.9"
        software = "1.75"
        name = "cellar"

        [outputs.OUT0]
        name = "Pump"
        return_time = "1h30m"

        [rules]
        1 = "when DS1 >= 30 (hysteresis 0.5), then OUT0 on"

        [rules.2]
        source = "INPD1"
        reference = 1
        action = "OUT1"
        value = "reverse"
        off_delay = "2m"

        [schedule.3]
        action = "OUT0"
        value = "on"
        time = "06:30"
        days = "Mon-Fri"

        [schedule.4]
        action = "OUT1"
        time = "10m"
        periodic = true
        date = 2026-03-29
        days = ["Sat-Mon"]
        active = false
        """,
    )
    settings = load_unit_file(path).settings
    assert (settings.name, settings.outputs[0].return_time) == ("cellar", 5400)
    assert settings.rules == (
        Rule(source="DS1", reference=30.0, hysteresis=0.5, enabled=True),
        Rule(source="INPD1", reference=1.0, action="OUT1", value=2, off_delay=120, enabled=True),
    )
    assert settings.schedule[2] == ScheduleEntry(
        value=1, time=23400, days=("Mon", "Tue", "Wed", "Thu", "Fri"), active=True
    )
    assert settings.schedule[3] == ScheduleEntry(
        action="OUT1", time=600, periodic=True, date="2026-03-29", days=("Mon", "Sat", "Sun")
    )


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("[outputz.OUT0]", "Unknown key `outputz`. Did you mean `outputs`? Allowed: outputs, "),
        (
            "[outputs.OUT7]",
            "Unknown key `outputs.OUT7`. Did you mean `OUT0`? Allowed: OUT0, OUT1, ",
        ),
        ("[outputs.OUT0]\nnmae = 1", "Unknown key `outputs.OUT0.nmae`. Did you mean `name`? "),
        ('hw = "3.9"', "Unknown key `hw`. Did you mean `hardware`? Allowed: hardware, "),
        ("[watchdog.9]", "Unknown key `watchdog.9`. Allowed: 1 to 6."),
        ("[pwm.9]", "Unknown key `pwm.9`. Allowed: PWM0, PWM1, PWM2, PWM3."),
        ("outputs = 3", "outputs must be a table, such as [outputs]."),
        ("outputs.OUT0 = 3", "outputs.OUT0 must be a table, such as [outputs.OUT0]."),
        ("[profile]", "Write hardware and software instead of version."),
        ("[outputs.OUT0]\nname = 1", "outputs.OUT0.name must be a text."),
        ('[pwm.PWM0]\nduty = "much"', "pwm.PWM0.duty must be a whole number."),
        ("[pwm.PWM0]\nduty = 200", "must be a whole number from 0 to 100 in HW 3.9 SW 1.75, not"),
        ('[analog_inputs.INPA1]\nsensor = "PT100"', "must be one of off, vin=3.3V/5V,"),
        ('[outputs.OUT0]\nreturn_time = "soon"', 'must be a duration such as "90s"'),
        ('[outputs.OUT0]\nreturn_time = "0.5s"', "must be a duration in whole seconds"),
        ('[email]\non_texts = "x"', "email.on_texts must be a list, each item a text."),
        ('[email]\non_texts = ["1","2","3","4","5"]', "has 5 items; HW 3.9 SW 1.75 has 4 places"),
        ('[schedule.1]\ntime = "25:00"', 'must be a time of the day such as "06:30"'),
        ('[schedule.1]\ndays = "Someday"', "must be weekdays such as"),
        ("[schedule.1]\ndays = 3", "must be weekdays such as"),
        ('[schedule.1]\nvalue = "up"', "schedule.1.value must be one of off, on, reverse."),
        ('[schedule.1]\naction = "OUT9"', "HW 3.9 SW 1.75 has no action 'OUT9' there."),
        (
            '[schedule.1]\nname = "a name that is long"',
            "does not support this time, date, days or name",
        ),
        ('[rules]\n1 = "when it rains"', "rules.1 is not a rule; write it like"),
        ('[rules.1]\nsource = "DS9"', "rules.1: HW 3.9 SW 1.75 has no source 'DS9' there."),
        ('[email]\npassword = "hush"', "email.password is a secret, which must not be in"),
        ('[email]\npassword = { env = "NOT_SET" }', "environment variable NOT_SET, which is not"),
        (
            '[email]\npassword = { secret = "no" }',
            "email.password refers to the secret 'no', which is not in any secrets file",
        ),
        (
            '[email]\nport = { env = "HOME" }',
            "email.port is not a secret; write its value here, or ${name}",
        ),
        ("values = { a = [1] }", "values must be a table such as"),
        ('[outputs.OUT0]\nname = "${zone}"', "uses ${zone}, which has no value; set it in"),
        ('[access.admin]\nname = ""', "access.admin.name must be a text: 1 to 31 characters."),
        (
            '[access.users.1]\nname = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"',
            "access.users.1.name must",
        ),
        ('[access.admin]\nname = "user"', "access.admin.name: Two accounts have the same name."),
        ('include = "common.toml"', "include must be a list of files such as"),
        ('include = ["nowhere.toml"]', "nowhere.toml cannot be read: No such file"),
        ('hardware = "4.0"', "Unknown hardware '4.0'. Choose one of"),
        ('hardware = "3.0"\nsoftware = "1.75"', "Software 1.75 does not exist for HW 3.0."),
        ("= 3", "is not valid TOML"),
    ],
)
def test_mistake_in_a_unit_file_is_reported_with_its_line(
    line: str, mistake: str, tmp_path: Path
) -> None:
    text = f"# a comment\n\n{line}\n"
    found = mistakes(write_unit_file(tmp_path, text))
    assert len(found) == 1
    assert mistake in found[0]
    number = 2 + len(line.splitlines())
    at_header = {"there is no rules.1", "this time, date"}
    assert found[0].startswith(
        f"unit.toml, line {number}{' is' if 'valid TOML' in mistake else ':'} "
    ) or any(words in mistake for words in at_header)
    assert "hush" not in found[0]


def test_unknown_key_lists_all_that_are_known_nearest_first(tmp_path: Path) -> None:
    (mistake,) = mistakes(write_unit_file(tmp_path, 'hw = "3.9"\n'))
    known = mistake.partition("Allowed: ")[2].rstrip(".").split(", ")
    assert known[0] == "hardware"
    assert len(known) == len(set(known)) > 12
    assert {"software", "outputs", "rules", "access"} <= set(known)
    assert "profile" not in known


def test_setting_that_a_version_lacks_is_reported_with_the_versions_that_have_it(
    tmp_path: Path,
) -> None:
    text = 'hardware = "3.0"\nsoftware = "1.58a"\n[modbus_devices.custom1]\nname = "x"\n'
    assert mistakes(write_unit_file(tmp_path, text)) == [
        "unit.toml, line 4: HW 3.0 SW 1.58a does not have modbus_devices.custom1.name; it exists"
        " in HW 3.5+ SW 1.36+."
    ]


def test_setting_that_a_version_dropped_is_reported(tmp_path: Path) -> None:
    (mistake,) = mistakes(write_unit_file(tmp_path, "[ui]\nauto_sign_in = true\n"))
    assert mistake.startswith("unit.toml, line 2: HW 3.9 SW 1.75 does not have ui.auto_sign_in; it")


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    text = "nmae = 1\n[pwm.PWM0]\nduty = 200\n[pwm.PWM1]\nduty = 300\n"
    assert [one.split(":")[0] for one in mistakes(write_unit_file(tmp_path, text))] == [
        "unit.toml, line 1",
        "unit.toml, line 3",
        "unit.toml, line 5",
    ]


def test_file_without_version_is_checked_against_that_of_the_unit(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, '[rules]\n1 = "when DS1 >= 1, then ENABLE PID"\n')
    assert load_unit_file(path, profile=NEWEST).profile == NEWEST
    with pytest.raises(BadUnitFile, match="HW 3.0 SW 1.58a has no action 'ENABLE PID' there"):
        load_unit_file(path, profile=HW30)


def test_included_files_come_first_and_what_includes_them_wins(tmp_path: Path) -> None:
    write_unit_file(
        tmp_path,
        """\
        values = { zone = "nowhere", port = 1883 }
        [outputs.OUT0]
        name = "Pump ${zone}"
        return_time = "5m"
        [mqtt]
        port = "${port}"
        prefix = "$${x}/${zone}"
        [rules]
        1 = "when DS1 >= 30, then OUT0 on"
        """,
        "common.toml",
    )
    path = write_unit_file(
        tmp_path,
        """\
        include = ["common.toml"]
        [values]
        zone = "north"
        [outputs.OUT0]
        return_time = "10m"
        [rules.1]
        enabled = false
        """,
    )
    file = load_unit_file(path, values={"port": 8883})
    output = file.settings.outputs[0]
    assert (output.name, output.return_time) == ("Pump north", 600)
    assert (file.settings.mqtt.port, file.settings.mqtt.prefix) == (8883, "${x}/north")
    assert file.settings.rules == (Rule(source="DS1", reference=30.0, enabled=False),)
    assert file.lines["outputs.0.name"].file.endswith("common.toml")
    assert file.lines["outputs.0.return_time"] == (str(path), 5)


def test_loop_of_includes_is_reported(tmp_path: Path) -> None:
    write_unit_file(tmp_path, 'name = "x"\ninclude = ["unit.toml"]\n', "common.toml")
    (mistake,) = mistakes(write_unit_file(tmp_path, 'include = [\n  "common.toml",\n]\n'))
    assert (
        mistake
        == "common.toml, line 2: unit.toml includes itself, directly or through another file;"
        " remove this include."
    )


def test_excessive_number_of_includes_is_reported(tmp_path: Path) -> None:
    write_unit_file(tmp_path, "", "common.toml")
    (mistake,) = mistakes(write_unit_file(tmp_path, f"include = {['common.toml'] * 101}\n"))
    assert mistake == "unit.toml, line 1: More than 100 files are included."


def test_mistake_in_an_included_file_is_reported_with_its_own_line(tmp_path: Path) -> None:
    write_unit_file(tmp_path, "\n\n[pwm.PWM0]\nduty = 300\n", "common.toml")
    (mistake,) = mistakes(write_unit_file(tmp_path, 'include = ["common.toml"]\n'))
    assert mistake.startswith("common.toml, line 4: pwm.PWM0.duty must be")


def test_secrets_come_from_the_environment_or_a_file_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "from environment")
    kept = write_unit_file(tmp_path, 'broker = "from file"\n', "secrets.toml")
    path = write_unit_file(
        tmp_path,
        """\
        secrets = "secrets.toml"
        [email]
        password = { env = "MAIL_PASSWORD" }
        [mqtt]
        password = { secret = "broker" }
        """,
    )
    assert "other users can read it; run chmod 600" in mistakes(path)[0]
    kept.chmod(0o600)
    settings = load_unit_file(path).settings
    assert settings.email.password == "from environment"
    assert settings.mqtt.password == "from file"
    kept.write_text("broker = 3\n", encoding="utf-8")
    assert "broker must be a string" in mistakes(path)[0]


def test_impossible_password_is_reported_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_unit_file(tmp_path, '[access.admin]\npassword = { env = "NEW_PASSWORD" }\n')
    monkeypatch.setenv("NEW_PASSWORD", "hush" * 33)
    (mistake,) = mistakes(path)
    assert mistake == (
        "unit.toml, line 2: access.admin.password must be a text: 0 to 128 characters."
    )
    monkeypatch.setenv("NEW_PASSWORD", "hush" * 32)
    assert load_unit_file(path).settings.access.admin.password == "hush" * 32


def test_secret_that_is_not_needed_is_as_if_not_named(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, '[email]\npassword = { env = "NOT_SET" }\n')
    assert not load_unit_file(path, need_secrets=False).names("email.password")


def test_settings_not_in_the_file_stay_unchanged(tmp_path: Path) -> None:
    present = with_value(defaults(NEWEST), "outputs.1.name", "Fan")
    present = with_value(present, "rules", (Rule(), Rule()))
    present = with_value(present, "schedule.4", ScheduleEntry())
    path = write_unit_file(
        tmp_path,
        """\
        schedule = {}
        [outputs.OUT0]
        name = "Pump"
        [access.users.1]
        name = "eve"
        """,
    )
    file = load_unit_file(path)
    wanted = file.over(present)
    changed = {key: new for key, _, new in difference(present, wanted)}
    assert wanted.schedule == (None,) * 50
    assert wanted.access.users[0] == ControlUser("eve", active=True)
    assert changed["outputs.0.name"] == "Pump"
    assert wanted.rules == present.rules
    assert wanted.outputs[1].name == "Fan"
    assert file.names("schedule.7.action")
    assert not file.names("rules.0.action")
    assert not file.names("profile.sw")


def test_complete_file_brings_everything_but_secrets_and_accounts(tmp_path: Path) -> None:
    present = random_settings(NEWEST, Random(3), 200)
    file = load_unit_file(write_unit_file(tmp_path, "complete = true\n"))
    kept = {key for key, _ in difference_paths(defaults(NEWEST), file.over(present))}
    assert all(pattern_of(key) in CONFIDENTIAL or key.startswith("access.") for key in kept)


def difference_paths(one: Settings, other: Settings) -> list[tuple[str, object]]:
    return [(path, new) for path, _, new in difference(one, other)]


def test_duplicate_settings_of_versions_stay_equal(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, '[ui]\nrefresh = "1m"\nuser_read_only = true\n')
    file = load_unit_file(path)
    assert file.settings.variables.words[0] == 6
    assert file.settings.variables.bits[3] == 1
    assert file.names("variables.words")
    assert file.names("variables.bits")


def test_file_is_carried_over_to_another_version(tmp_path: Path) -> None:
    text = '[rules]\n1 = "when DS1 >= 1, then ENABLE PID"\n[outputs.OUT0]\nname = "Pump"\n'
    file = load_unit_file(write_unit_file(tmp_path, text))
    assert file.for_version(NEWEST) == (file, ())
    older, lost = file.for_version(HW30)
    assert older.profile == HW30
    assert older.settings.outputs[0].name == "Pump"
    assert [one.path for one in lost] == ["rules.0"]
    assert older.names("rules.0.action")


def test_every_list_of_the_tree_has_names_for_its_places() -> None:
    settings = with_value(defaults(NEWEST), "rules", (Rule(),) * 20)
    for path, _ in leaves(settings):
        assert not any(
            step.isdigit() and f"{before}.{step}" == key
            for before, step, key in [(path, path.rpartition(".")[2], key_of(path))]
        )
    assert set(PLACES) >= {
        ".".join(pattern_of(path).split(".")[:index])
        for path, _ in leaves(settings)
        for index, step in enumerate(path.split("."))
        if step.isdigit()
    }


def test_durations_that_no_text_says_are_written_as_numbers() -> None:
    assert value_for_file("modbus_devices.0.delay", 75.1) == 75.1
    assert value_for_file("modbus_devices.0.delay", 7.5) == "7.5s"
    assert value_from_file("modbus_devices.0.delay", "7.5s") == 7.5
    assert {pattern_of(path) for path in DURATIONS} == DURATIONS


def test_any_file_content_is_read_or_reported(tmp_path: Path) -> None:
    odd = [
        "1",
        "-1",
        "1e400",
        "nan",
        '""',
        '"${x}"',
        "[]",
        "[[1]]",
        "{}",
        '{ env = "HOME" }',
        "true",
    ]
    odd += ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", '["x", 1]', "{ a = { b = 1 } }"]
    keys = [key_of(path) for path, _ in leaves(defaults(NEWEST)) if not path.startswith("layout")]
    keys += [
        "rules.1",
        "rules.1.value",
        "schedule.1.days",
        "schedule.2.time",
        "access.users.1.name",
    ]
    keys += ["include", "values", "unread", "complete", "hardware", "software", "secrets", "rules"]
    random = Random(5)
    for _ in range(25):
        chosen = dict.fromkeys(random.sample(keys, k=6))
        text = "".join(f"{key} = {random.choice(odd)}\n" for key in chosen)
        with suppress(BadUnitFile):
            load_unit_file(write_unit_file(tmp_path, text))


def test_long_list_has_one_item_a_line(tmp_path: Path) -> None:
    unread = ["email", "gsm", "http", "mqtt", "snmp", "watchdog", "oled", "power", "serial", "ui"]
    text = unit_text(defaults(NEWEST), NEWEST, [*unread, "modbus_slots", "modbus_devices"]).text
    assert '\nunread = [\n    "email",\n    "gsm",\n' in text
    assert load_unit_file(write_unit_file(tmp_path, text)).unread[:2] == ("email", "gsm")
    assert '\nunread = ["email", "gsm"]\n' in unit_text(defaults(NEWEST), NEWEST, unread[:2]).text
