"""Sentences of the server that pages show: each is found in `words/server.json`, translated.

A page finds a sentence by its text: places hold what differs. So a sentence that is written anew
needs its entry here, in all languages.
"""

import ast
import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

import leverframe

SOURCES = Path(leverframe.__file__).parent
WORDS = json.loads(
    (Path(str(resources.files("leverframe.web"))) / "words" / "server.json").read_text("utf-8")
)
#: The refusals and troubles whose sentences come to people in the pages.
SHOWN = {
    *("BadValue", "Malformed", "Conflict", "Locked", "NotAllowed", "SignInRequired"),
    *("TooManyCommands", "UnsupportedBody", "ForeignPage", "BadUpload", "BackupRefused"),
    *("StoreUnavailable", "CannotSend"),
}
#: Whose sentences come to others: the test bench, the command line, the start of the program.
NOT_FOR_PAGES = (
    *("servers/routes/sim", "servers/routes/what_if", "servers/sms_commands"),
    *("maintenance", "fleet", "units", "recording", "simulation", "command_line", "testing"),
    *("storage/snapshots", "storage/fleet", "process"),
)
#: Of the commands that make keys and images.
OF_COMMANDS = ("Say which hardware", "This is no private key", "This is no public key")
#: What is allowed: names of the protocols are the same in every language.
SPOKEN = re.compile(r"[a-z]{4}")
WITHOUT_WORDS = re.compile(r"/x-www-form|COMMAND|^UTF-8|^\{?&")
#: Stands for whatever a place holds.
FILLED = "7"


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    pieces = (one.value if isinstance(one, ast.Constant) else FILLED for one in node.values)
    return "".join(map(str, pieces))


def _raised(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        call = node.exc
        if isinstance(call.func, ast.Name) and call.func.id in SHOWN and call.args:
            text = _text(call.args[0])
            if text is not None:
                yield text


def _allowed(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "allowed":
            text = _text(node.value)
            if text is not None and SPOKEN.search(text) and not WITHOUT_WORDS.search(text):
                yield text


def _returned(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Return) and node.value is not None:
            text = _text(node.value)
            if text is not None:
                yield text


def sentences() -> set[str]:
    found: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        if not path.relative_to(SOURCES).as_posix().startswith(NOT_FOR_PAGES):
            found.update(_raised(path))
            found.update(_allowed(path))
    found.update(_returned(SOURCES / "notify" / "troubles.py"))
    return {text for text in found if not text.startswith(OF_COMMANDS)}


def patterns() -> list[re.Pattern[str]]:
    """Return what the pages make of the English texts."""
    return [
        re.compile(
            "".join(
                "(.*?)" if place % 2 else re.escape(piece)
                for place, piece in enumerate(re.split(r"\{(\w+)\}", entry["en"]))
            ),
            re.DOTALL,
        )
        for entry in WORDS.values()
    ]


def test_every_sentence_of_the_server_that_pages_show_is_translated() -> None:
    known = patterns()
    told = sentences()
    assert len(told) > 120
    assert sorted(one for one in told if not any(p.fullmatch(one) for p in known)) == []


def test_no_entry_is_for_a_sentence_that_nobody_makes() -> None:
    text = "".join(path.read_text("utf-8") for path in SOURCES.rglob("*.py"))
    text += (SOURCES / "web" / "lib" / "api.js").read_text("utf-8")
    # Sentences stand in several lines of the source.
    joined = re.sub(r'"\s*\n\s*(?:else )?f?"', "", text)
    for key, entry in WORDS.items():
        longest = max(re.split(r"\{\w+\}", entry["en"]), key=len)
        assert longest.strip() in joined, (key, longest)


@pytest.mark.parametrize("language", ["pl", "fr", "hu", "cs"])
def test_a_translation_has_no_places_but_those_of_its_sentence(language: str) -> None:
    for key, entry in WORDS.items():
        places, own = (set(re.findall(r"\{(\w+)\}", entry[one])) for one in ("en", language))
        assert own <= places, key


@pytest.mark.parametrize("language", ["pl", "fr", "hu", "cs"])
def test_no_sentence_was_left_in_english(language: str) -> None:
    assert [key for key, entry in WORDS.items() if entry[language] == entry["en"]] == []
