"""Templates that clients send: read in any form, at a bounded cost."""

import asyncio
import tomllib
from contextlib import suppress
from itertools import product
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leverframe.fleet.operations.context import (
    MAX_BYTES,
    MAX_STRUCTURE_BYTES,
    TemplateReader,
    check_structure,
)
from leverframe.host.maintenance.backup import as_text, list_changes
from leverframe.interface.table.refusals import BadValue
from leverframe.storage.backup import BackupFile, encode_backup, unpack
from tests.boundary_profiles import NEWEST
from tests.cases import for_each
from tests.effort import examples, some_of
from tests.fleet.loop_node import loop_node
from tests.random_settings import random_settings
from tests.stopwatch import within

LONG_KEY = "a.b.c.d.e = 1"
HEAD = 'hw = "3.9"\nsw = "1.75"\n[settings]\n'
#: Pieces of which strings, comments, tables and their ends are made.
PIECES = (
    *('"', "'", '"""', "'''", '""', "''", "\\", "#", "\n", "\r\n", "=", ".", ",", " "),
    *("[", "]", "{", "}", "a", "1", '\\"', "\\\\", "\\\n", "# \\"),
)
DELIMITERS = ('"', "'", '"""', "'''")


async def read(text: str) -> BackupFile:
    return await TemplateReader().read(text.encode())


def refusal_of(text: str) -> str:
    with pytest.raises(BadValue) as refusal:
        asyncio.run(read(text))
    return refusal.value.at_its_place


@for_each("suffix", [".toml", ".json"])
def test_whole_backup_is_a_template_in_either_form(suffix: str) -> None:
    settings = random_settings(NEWEST, Random(7), 400)
    file = unpack(encode_backup(NEWEST, settings))
    text = as_text(file, suffix)
    template = asyncio.run(read(text))
    # TOML has no null.
    written = list_changes(file).items()
    assert template.settings == {
        path: value for path, value in written if value is not None or suffix == ".json"
    }
    assert (template.hw, template.sw) == (NEWEST.hw, NEWEST.sw)


@for_each(
    ("text", "reason"),
    [
        (LONG_KEY, "A key of the template has more than 4 parts. Allowed: each path as one text"),
        ('"a". "b" .c\t.d.\'e\' = 1', "more than 4 parts"),
        ("[a.b.c.d.e]", "more than 4 parts"),
        ('x = ["""a"""", {a.b.c.d.e = 1}]', "more than 4 parts"),
        ("x" * (MAX_BYTES + 1), f"has {MAX_BYTES + 1} bytes. Allowed: up to {MAX_BYTES} bytes"),
        ("x = [" + "1," * 40_000 + "]", "Without strings and comments the template has 80006"),
        ('{"a": [' + "[]," * 40_000 + "[]]}", "Without strings and comments the template has"),
        ("x = 0x" + "f" * 40_000, "not a backup in JSON or TOML"),
        (HEAD + '"a" = 2020-01-01', ""),
        ("[" * 30_000, "not a backup in JSON or TOML"),
        ('{"a":' * 10_000, "not a backup in JSON or TOML"),
        ("hw = 1", "not a backup in JSON or TOML"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_invalid_template_is_refused_with_the_reason(text: str, reason: str) -> None:
    if reason:
        assert reason in refusal_of(text)
    else:
        assert asyncio.run(read(text)).settings == {"a": "2020-01-01"}


def test_template_not_in_utf_8_is_refused() -> None:
    with pytest.raises(BadValue, match="not UTF-8 text"):
        asyncio.run(TemplateReader().read(b"hw = '\xff'"))


REPEATED = (
    *("a.", '"a".', "a . ", "[a.b.c.d]\n", "[[a]]\n", "a=1\n", "1,", "[", "{", "a={", "#\n"),
    *('"', "'", '"""', '\\"""', "'''", "\\", " ", "\n", "x", "=", '"a"', "a.b.c.d=1,", "é"),
    *('""x', '"\\', "a a.", "a.a.a a.", "-", "0x", "1_", "2020-01-01T", "\r\n", "s = '''\n"),
)
BEGINS = ("", "a = [", 'a = """', HEAD, '{"a": ')


SIZES = (MAX_BYTES, MAX_STRUCTURE_BYTES)


@for_each(("begin", "piece", "size"), some_of(list(product(BEGINS, REPEATED, SIZES))))
def test_reading_any_template_is_fast(begin: str, piece: str, size: int) -> None:
    count = (size - len(begin)) // len(piece.encode())
    with within(2), suppress(BadValue):
        asyncio.run(read(begin + piece * count))


@st.composite
def valid_texts(draw: st.DrawFn) -> str:
    """Draw a TOML text of strings, with comments behind them, that end at unexpected places."""
    text = ""
    for number in range(draw(st.integers(1, 5))):
        delimiter = draw(st.sampled_from(DELIMITERS))
        body = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=6)))
        behind = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=3)))
        line = f"k{number} = {delimiter}{body}{delimiter}{behind}\n"
        with suppress(ValueError):
            tomllib.loads(text + line)
            text += line
    return text


@examples(300)
@given(valid_texts())
@example('k = """a""""# \\\n')
@example("k = '''a''''\n")
@example('k = """a"""""\n')
def test_valid_text_never_hides_a_long_key_behind_it(text: str) -> None:
    for after in (LONG_KEY, "[a.b.c.d.e]", "x = {a.b.c.d.e = 1}", "x = [{a.b.c.d.e = 1}]"):
        with pytest.raises(BadValue, match="more than 4 parts"):
            check_structure(f"{text}{after}\n", is_json=False)


@for_each(
    ("what", "given_"),
    [
        ("drift", {}),
        ("rollout/plan", {"what": "template"}),
        ("add", {"name": "new"}),
    ],
)
async def test_every_request_reads_templates_in_the_same_way(
    what: str, given_: dict[str, str]
) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh")
        dotted = ".".join("a" * 25_000) + " = 1"
        with within(1):
            assert "more than 4 parts" in await node.expect_refusal(
                400, what, dotted.encode(), **given_
            )
        small = HEAD + '"outputs.0.name" = "Pump"\n'
        await node.post(what, small.encode(), **given_)
