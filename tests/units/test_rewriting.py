"""Unit files brought up to date: they say what is, and what people wrote beside it stays."""

from pathlib import Path
from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, ScheduleEntry
from leverframe.core.tree import defaults, difference, with_value
from leverframe.units.file_keys import BadUnitFile
from leverframe.units.file_loader import KnownSecrets, load_unit_file
from leverframe.units.file_update import save_unit_file
from leverframe.units.unit_text import unit_text
from tests.effort import some_of
from tests.random_settings import random_settings
from tests.units.unit_files import PROFILES, write_unit_file

NEWEST = Profile()
FILE = """\
# Our greenhouse
name = "green"   # the name

# outputs first
[outputs.OUT2]
return_time = "12h" # long
name = "Lamp"
[rules]
# heat
1 = "when DS1 < 12 (hysteresis 1), then OUT0 on" # cold
2 = "when DS1 >= 25, then OUT1 on"

[rules.3]
source = "DS3" # as fields
off_delay = "1m"

[schedule.1]
# morning
action = "OUT2"
time = "06:30"
"""


def add_comments(text: str, random: Random) -> str:
    """The text with comments between and behind its lines, but not in lists: items may go."""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if line.startswith((" ", "]")):
            lines.append(line)
            continue
        lines += [f"# above {number}"] if random.random() < 0.2 else []
        lines.append(f"{line} # behind {number}" if line and random.random() < 0.2 else line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("profile", some_of(PROFILES[::4]), ids=str)
def test_rewritten_file_says_the_settings_and_keeps_its_comments(
    profile: Profile, tmp_path: Path
) -> None:
    random = Random(str(profile))
    before = random_settings(profile, random, 40)
    after = random_settings(profile, random, 40)
    # Comments of rules and entries that are gone go with them.
    before = with_value(before, "rules", after.rules[: len(before.rules)])
    before = with_value(before, "schedule", after.schedule)
    before = with_value(before, "access.users", after.access.users)
    text = unit_text(before, profile)
    path = write_unit_file(tmp_path, add_comments(text.text, random))
    old = path.read_text(encoding="utf-8").splitlines()
    secrets = {**text.secrets, **save_unit_file(path, after, profile)}
    said = load_unit_file(path, secrets=KnownSecrets({}, secrets))
    assert list(difference(after, said.settings)) == []
    new = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in old if line.startswith("# above")] == [
        line for line in new if line.startswith("# above")
    ]
    behind = [line.partition(" # behind ")[2] for line in old]
    assert [mark for mark in behind if mark] == [
        mark for line in new if (mark := line.partition(" # behind ")[2])
    ]


def test_file_that_says_it_already_is_not_touched(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, FILE)
    assert save_unit_file(path, load_unit_file(path).settings, NEWEST) == {}
    assert path.read_text(encoding="utf-8") == FILE


def test_only_changed_lines_are_rewritten(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, FILE)
    settings = load_unit_file(path).settings
    settings = with_value(settings, "outputs.2.return_time", 3600)
    settings = with_value(settings, "outputs.3.name", "Fan")
    settings = with_value(settings, "http_period", 60)
    settings = with_value(settings, "mqtt.password", "hush")
    first, _, third = settings.rules
    second = Rule(source="DS1", reference=26.0, action="OUT1", enabled=True)
    third = with_value_of(third, off_delay=120)
    settings = with_value(settings, "rules", (first, second, third))
    settings = with_value(settings, "schedule.1", ScheduleEntry(time=600, periodic=True))
    assert save_unit_file(path, settings, NEWEST) == {"mqtt.password": "hush"}
    text = path.read_text(encoding="utf-8")
    assert "hush" not in text
    added = """\
[schedule.2]
action = "OUT0"
time = "10m"
periodic = true
active = false

[mqtt]
password = {secret = "mqtt.password"}
"""
    assert text == (
        FILE.replace('"12h"', '"1h"')
        .replace("the name\n", 'the name\nhttp_period = "1m"\n')
        .replace("DS1 >= 25", "DS1 >= 26")
        .replace('"1m"\n\n[schedule', '"2m"\n\n[schedule')
        .replace('name = "Lamp"\n', 'name = "Lamp"\n\n[outputs.OUT3]\nname = "Fan"\n\n')
        + "\n"
        + added
    )


def with_value_of(rule: Rule, **fields: int) -> Rule:
    return Rule(**{name: getattr(rule, name) for name in rule.__struct_fields__} | fields)


def test_removed_settings_are_taken_out(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, FILE)
    settings = load_unit_file(path).settings
    settings = with_value(settings, "rules", settings.rules[:1])
    settings = with_value(settings, "schedule.0", None)
    save_unit_file(path, settings, NEWEST)
    text = path.read_text(encoding="utf-8")
    assert '1 = "when DS1 < 12' in text
    assert "2 = " not in text
    assert "[rules.3]" not in text
    assert "schedule" not in text
    assert load_unit_file(path).names("rules")


def test_rule_without_a_sentence_becomes_a_table(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, '[rules]\n1 = "when DS1 < 12, then OUT0 on"\n')
    settings = with_value(load_unit_file(path).settings, "rules", (Rule(source2="DS1"),))
    save_unit_file(path, settings, NEWEST)
    assert load_unit_file(path).settings.rules == (Rule(source2="DS1"),)


def test_rule_of_an_empty_place_goes_and_the_later_ones_stay(tmp_path: Path) -> None:
    path = write_unit_file(
        tmp_path,
        '[rules]\n1 = "when DS1 < 12, then OUT0 on"\n2 = "when DS2 < 12, then OUT1 on"\n',
    )
    settings = load_unit_file(path).settings
    emptied = with_value(settings, "rules", (None, settings.rules[1]))
    save_unit_file(path, emptied, NEWEST)
    assert "1 = " not in path.read_text(encoding="utf-8")
    assert load_unit_file(path).settings.rules == emptied.rules


def test_version_and_what_is_unread_are_brought_up_to_date(tmp_path: Path) -> None:
    path = write_unit_file(
        tmp_path, '# opening\n\n# about outputs\n[outputs.OUT0]\nname = "Pump"\n'
    )
    older = Profile("3.5", "1.44")
    settings = load_unit_file(path, profile=older).settings
    save_unit_file(path, settings, older)
    assert path.read_text(encoding="utf-8").splitlines()[0] == "# opening"
    whole = write_unit_file(
        tmp_path, 'hardware = "3.9"\nsoftware = "1.75"\ncomplete = true\n', "w.toml"
    )
    save_unit_file(whole, load_unit_file(whole).settings, NEWEST, ["email"])
    assert load_unit_file(whole).unread == ("email",)
    save_unit_file(whole, settings, older, ["email"])
    assert load_unit_file(whole).profile == older


def test_new_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    settings = random_settings(NEWEST, Random(1))
    secrets = save_unit_file(path, settings, NEWEST, opening="Read today.")
    assert path.read_text(encoding="utf-8").startswith("# Read today.\nhardware =")
    said = load_unit_file(path, secrets=KnownSecrets({}, secrets))
    assert list(difference(settings, said.settings)) == []
    assert list(tmp_path.iterdir()) == [path]


def test_contradicting_included_file_is_refused(tmp_path: Path) -> None:
    write_unit_file(tmp_path, '[rules]\n1 = "when DS1 < 12, then OUT0 on"\n', "common.toml")
    path = write_unit_file(tmp_path, 'include = ["common.toml"]\n')
    settings = with_value(load_unit_file(path).settings, "rules", ())
    with pytest.raises(BadUnitFile, match=r"rules\.1\.source would differ from the unit"):
        save_unit_file(path, settings, NEWEST)
    assert path.read_text(encoding="utf-8") == 'include = ["common.toml"]\n'


def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadUnitFile, match="cannot be written: No such file"):
        save_unit_file(tmp_path / "no" / "u.toml", random_settings(NEWEST, Random(1)), NEWEST)


def test_long_list_keeps_its_lines_and_their_comments(tmp_path: Path) -> None:
    unread = ["email", "gsm", "http", "mqtt", "snmp", "watchdog", "oled", "power", "serial", "ui"]
    unread += ["modbus_slots", "modbus_devices"]
    text = unit_text(defaults(NEWEST), NEWEST, unread).text
    path = write_unit_file(tmp_path, text.replace('"gsm",', '"gsm", # no modem'))
    save_unit_file(path, defaults(NEWEST), NEWEST, unread[1:])
    assert '    "gsm", # no modem\n' in path.read_text(encoding="utf-8")
    save_unit_file(path, defaults(NEWEST), NEWEST, [*unread, "pwm", "weather"])
    assert load_unit_file(path).unread == tuple(sorted([*unread, "pwm", "weather"]))
    said = path.read_text(encoding="utf-8")
    assert '    "gsm", # no modem\n' in said
    assert '"weather"' in said
    assert len(max(said.splitlines(), key=len)) <= 100


def test_header_added_above_a_table_does_not_repeat_its_comment(tmp_path: Path) -> None:
    path = write_unit_file(tmp_path, '[snmp.trap] # to the office\nhost = "10.0.0.1"\n')
    wanted = with_value(load_unit_file(path, profile=NEWEST).settings, "snmp.enabled", value=True)
    save_unit_file(path, wanted, NEWEST)
    assert path.read_text(encoding="utf-8").count("# to the office") == 1
