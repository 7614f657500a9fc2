"""Everything that can be set by a command of any version can be set on some page.

Pages look commands up by name; the names that their modules speak of are compared with the command
tables of many versions. That the fields then work is shown by test_setting_pages.py.
"""

import re
from importlib import resources
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import command_table

WEB = Path(str(resources.files("leverframe") / "web"))
VERSIONS = [
    *[("3.0", "1.58a"), ("3.5", "1.19"), ("3.5", "1.24"), ("3.5", "1.36"), ("3.5", "1.44")],
    *[("3.5", "1.45b"), ("3.5", "1.49"), ("3.5", "1.57"), ("3.5", "1.67"), ("3.9", "1.75")],
]

#: `command: "oname"`, `find("oled_save")`, `["postop", "posleft"]`, but not the text `t("name"`.
NAMED = re.compile(r'(?:(?:command:|const \w+ =|,) |(?<!\bt)[(\[])"([^"]+)"')
#: Forms with holes wherever they stand: "byte<A>".
SHAPED = re.compile(r'"([^"\s]+<\w+>[^"\s]*)"')

#: What needs no field, and why.
WITHOUT_A_FIELD = {
    "GET /outs.cgi?out=out<A>": "levers switch to a state; they never toggle",
    "GET /outs.cgi?out=<A>": "levers switch to a state; they never toggle",
    "GET /outs.cgi?pwm=pwm<A>": "levers switch to a state; they never toggle",
    "GET /stm.cgi?pwm<A>=<B>": "another way of writing /outs.cgi?pwm<A>=<B>",
    "GET /inpa.cgi?eclear=<A>": "the same as powset with 0",
    "GET /stm.cgi?mod_write=<A>*<B>*<C>*<D>*<E>": "what is written often is a mod_write_set",
    "GET /stm.cgi?em8=<A>": "the text is a part of the command that sets all of the e-mail",
    "POST /post.cgi?signin": "the page for signing in is no part of these",
    "GET /stm.cgi?restart_power_on=1": "a flag for programs, not for people",
    "GET /stm.cgi?upgrade=lkstart3": "another way of writing upgrade=devstart3",
    "GET /stm.cgi?lk3restart=1": "another way of writing devrestart=1",
    "GET /lk3_settings.bin": "another way of writing /dev_settings.bin",
    "GET /stm.cgi?pidtarget=<A>": "the target has a field of pidvalue",
    "GET /stm.cgi?dsOffset<A>=<B>": "another way of writing dsOffset=<A>:<B>",
    "GET /stm.cgi?sdm120bitrate=9600": "a field sets this and other bitrates",
    "GET /stm.cgi?gsmsms=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>": "each text has a field of gsmsms<A>",
}


def source(folder: str) -> str:
    paths = sorted(WEB.glob(folder))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def names_in_pages() -> set[str]:
    pages = source("pages/**/*.js") + source("settings/**/*.js")
    return {*NAMED.findall(pages), *SHAPED.findall(pages)}


def names_of(line: str) -> set[str]:
    """All the ways in which a page may name the command of a line."""
    query = line.partition("?")[2]
    name = query.partition("=")[0]
    return {query, name, re.sub(r"<\w+>", "", name)} - {""}


def is_addressed(line: str) -> bool:
    """Uploads are no forms: the one module that knows addresses has them."""
    begin = re.split(r"[=<]", line.split(" ")[1])[0]
    return re.search(re.escape(begin) + r"(?!\w)", source("lib/live/api.js")) is not None


@pytest.mark.parametrize("version", VERSIONS, ids=" ".join)
def test_every_command_of_the_version_has_a_field_on_a_page(version: tuple[str, str]) -> None:
    known = names_in_pages()
    missing = [
        row["line"]
        for row in command_table(Profile(*version))
        if not row["deprecated"]
        and row["line"] not in WITHOUT_A_FIELD
        and not names_of(row["line"]) & known
        and not is_addressed(row["line"])
    ]
    assert missing == []


def test_exceptions_are_commands_that_exist() -> None:
    lines = {row["line"] for version in VERSIONS for row in command_table(Profile(*version))}
    assert WITHOUT_A_FIELD.keys() <= lines
