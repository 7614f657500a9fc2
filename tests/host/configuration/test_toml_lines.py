"""Where in a TOML file a value stands."""

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from leverframe.host.configuration.toml import TomlPath, line_of
from tests.cases import for_each

TEXT = """\
# a comment with key = "x"
start = 2026-01-01T00:00:00
record = ["DS1", "DS2"]
commands = [
    "/outs.cgi?out0=1",
    # "not this one"
    "/outs.cgi?out1=1", "/outs.cgi?out2=1",
]

[[at]]
time = "06:00"

[profile]
hw = "3.9"

[[at]]
sim = "DS1=5"
commands = ["/a",
  '/b']
"""


@for_each(
    ("place", "line"),
    [
        (("start",), 2),
        (("record",), 3),
        (("record", 1), 3),
        (("commands",), 4),
        (("commands", 0), 5),
        (("commands", 1), 7),
        (("commands", 2), 7),
        (("at", 0, "time"), 11),
        (("profile", "hw"), 14),
        (("at", 1, "sim"), 17),
        (("at", 1, "commands", 0), 18),
        (("at", 1, "commands", 1), 19),
        # What is not there stands where it should be.
        (("at", 0, "sim"), 10),
        (("at", 1, "time"), 16),
        (("at", 0), 10),
        (("profile",), 13),
        (("timezone",), 1),
        ((), 1),
    ],
)
def test_value_is_found_on_its_line(place: TomlPath, line: int) -> None:
    assert line_of(TEXT, place) == line


def test_key_before_the_tables_is_not_taken_for_one_within() -> None:
    assert line_of('time = "x"\n[[at]]\ntime = "y"\n', ("at", 0, "time")) == 3
    assert line_of('[[at]]\ntime = "y"\n', ("time",)) == 1


KEYS = st.sampled_from(["alpha", "beta", "gamma", "delta"])
TEXTS = st.text(st.characters(codec="ascii", exclude_characters='"\\\n\r'), max_size=8)


@given(st.lists(st.dictionaries(KEYS, TEXTS), min_size=1, max_size=5))
def test_every_key_of_every_table_is_found(tables: list[dict[str, str]]) -> None:
    lines: list[str] = []
    places: dict[TomlPath, int] = {}
    for index, table in enumerate(tables):
        lines.append("[[part]]")
        for key, value in table.items():
            printable = "".join(letter for letter in value if letter.isprintable())
            lines.append(f'{key} = "{printable}"')
            places[("part", index, key)] = len(lines)
    text = "\n".join(lines)
    parsed: dict[str, Any] = tomllib.loads(text)
    assert len(parsed["part"]) == len(tables)
    assert {place: line_of(text, place) for place in places} == places
