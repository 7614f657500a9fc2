"""The texts of the pages: complete in five languages, each existing once.

That each is used, and each that is asked for exists: logic/texts.test.js.
"""

import functools
import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from leverframe.core.engine.journal import SENTENCES as FACTS
from leverframe.core.labels import DIGITAL_INPUTS, OUTPUTS
from leverframe.core.profile import Profile
from leverframe.devices.simulated.fault_catalogue import FAULTS, fields_of
from leverframe.devices.simulated.plant_wiring import KINDS, OneOf
from leverframe.devices.simulated.simulated_board import SETTABLE
from leverframe.devices.wire.modbus_modules import MODULES
from leverframe.fleet.entrance import SENTENCES as REFUSAL_SENTENCES
from leverframe.host.controller.findings import PARTS, SENTENCES
from leverframe.interface.descriptions.listing import command_table
from leverframe.interface.table.bodies import Upload
from leverframe.interface.table.codes import I2C_SENSORS
from leverframe.interface.table.lookup import TABLE
from leverframe.server.routes.endpoints import ENDPOINTS, SIM_PATH
from leverframe.server.routes.sentence_page import MISSING_WORDS
from leverframe.server.routes.sign_in import WORDS as SIGN_IN_WORDS
from tests.cases import for_each

WEB = Path(str(resources.files("leverframe") / "web"))
LANGUAGES = {"en", "pl", "fr", "hu", "cs"}
#: The texts of the frame, of forms and of one page each, and the words of code lists.
FILES = sorted(path.stem for path in (WEB / "words").glob("*.json"))
COMMON = ("frame", "forms")
SHARED = (*COMMON, "codes", "commands", "findings", "parts", "readings", "server", "synonyms")
PAGES = [name for name in FILES if name not in SHARED]

#: A place, or the forms of a word by a number.
PLACEHOLDER = re.compile(r"\{(\w+)[}|]")


@functools.cache
def words(name: str) -> dict[str, dict[str, str]]:
    """A file of words; a key that is written twice is an error."""
    text = (WEB / "words" / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text, object_pairs_hook=_without_repetition)
    return found


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"repeated: {[k for k in keys if keys.count(k) > 1]}"
    return dict(pairs)


@for_each("name", FILES)
def test_every_text_exists_in_every_language(name: str) -> None:
    for key, entry in words(name).items():
        assert set(entry) == LANGUAGES, key
        assert all(text == text.strip() and text for text in entry.values()), key


#: Pages that the program makes itself, with what each says by language.
MADE_PAGES: dict[str, Mapping[str, Struct]] = {
    "sign in": SIGN_IN_WORDS,
    "missing": MISSING_WORDS,
    **REFUSAL_SENTENCES,
}


@for_each("page", list(MADE_PAGES))
def test_pages_that_the_program_makes_say_all_in_every_language(page: str) -> None:
    said = {language: asdict(words) for language, words in MADE_PAGES[page].items()}
    assert set(said) == LANGUAGES
    assert len(set(map(str, said.values()))) == len(LANGUAGES)
    for key, english in said["en"].items():
        texts = [words[key] for words in said.values()]
        assert all(text == text.strip() and text for text in texts), key
        assert {frozenset(PLACEHOLDER.findall(text)) for text in texts} == {
            frozenset(PLACEHOLDER.findall(english))
        }, key


def test_adjacent_texts_have_different_words() -> None:
    common = words("frame") | words("forms")
    for language in LANGUAGES:
        buttons = [common[key][language] for key in ("save", "undo", "discard", "cancel")]
        assert len(set(buttons)) == len(buttons), language


# What the server says may hold a hint for programs, which the pages leave out.
@for_each("name", [name for name in FILES if name != "server"])
def test_every_language_has_the_same_placeholders(name: str) -> None:
    for key, entry in words(name).items():
        placeholders = {frozenset(PLACEHOLDER.findall(text)) for text in entry.values()}
        assert len(placeholders) == 1, key


def test_other_words_are_those_of_texts_that_exist() -> None:
    for key in words("synonyms"):
        name, _, text = key.rpartition(".")
        assert text in words(name or "frame"), key


#: What a thing is called in English -> what its name has in other languages, in every case.
TERMS = {
    r"periodic switching|switch\w*\b.* periodically": {
        "pl": "cykliczn",
        "fr": "périodique",
        "hu": "ismétlőd",
        "cs": "periodick",
    },
    r"SNMP trap": {"pl": "pułap", "fr": "trap", "hu": "trap", "cs": "trap"},
    r"PID regulator": {"pl": "regulator", "fr": "régulateur", "hu": "PID-szab", "cs": "regulátor"},
    r"authentication key": {
        "pl": "uwierzyteln",
        "fr": "authent",
        "hu": "hitelesítési",
        "cs": "autentizační",
    },
    r"\bfindings?\b": {"pl": "uwag", "fr": "constat", "hu": "észrevétel", "cs": "nález"},
}


@for_each("english", TERMS)
def test_thing_is_called_the_same_everywhere(english: str) -> None:
    found = [
        entry
        for name in FILES
        for entry in words(name).values()
        if re.search(english, entry["en"], re.IGNORECASE)
    ]
    assert len({entry["en"].lower() for entry in found}) > 1
    for entry in found:
        for language, begin in TERMS[english].items():
            assert begin.lower() in entry[language].lower(), entry


#: Units of time that a language writes otherwise.
FOREIGN_UNITS = {"pl": "d|godz", "fr": "d", "hu": "d|h|min|s", "cs": "d|hod"}


@for_each("language", FOREIGN_UNITS)
def test_units_of_time_are_those_of_the_language(language: str) -> None:
    foreign = re.compile(rf"[\d}}] ({FOREIGN_UNITS[language]})\b(?!’)")
    texts = [entry[language] for name in FILES for entry in words(name).values()]
    assert [text for text in texts if foreign.search(text)] == []


def test_findings_have_the_sentences_of_the_controller() -> None:
    assert {kind: entry["en"] for kind, entry in words("findings").items()} == SENTENCES


#: Parts in trouble that are called the same in every language.
SAME_PARTS = {"E-mail", "SMS", "MQTT", "Bootloader", "SPS30", *I2C_SENSORS}


def test_every_part_that_can_be_in_trouble_has_its_name_in_every_language() -> None:
    # The number of a slot stands in its name.
    names = {re.sub(r"slot \d", "slot {}", part.name) for part in PARTS.values()} - SAME_PARTS
    entries = words("parts").values()
    assert {re.sub(r"\{\w+\}", "{}", entry["en"]) for entry in entries} == names
    assert [entry for entry in entries if entry["en"] in list(entry.values())[1:]] == []


def test_every_kind_of_entry_in_the_journal_has_its_sentence() -> None:
    fact_texts = {key.removeprefix("what_") for key in words("journal") if key.startswith("what_")}
    # A finding has its own sentence.
    assert fact_texts == set(FACTS) - {"finding"}


@for_each("name", PAGES)
def test_text_of_a_page_does_not_hide_one_of_the_frame(name: str) -> None:
    assert set(words(name)) & (set(words("frame")) | set(words("forms"))) == set()


@for_each("path", sorted(WEB.glob("pages/*.js")), ids=lambda path: path.stem)
def test_every_page_has_a_title(path: Path) -> None:
    assert path.stem == "index" or f"page_{path.stem}" in words("frame")


def _descriptions(schema: Any) -> set[str]:
    """The words of all codes and what patterns want, anywhere in a description."""
    if isinstance(schema, list):
        return set().union(*map(_descriptions, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    own = {str(word) for word in schema.get("x-words", {}).values()}
    if isinstance(schema.get("description"), str):
        own.add(schema["description"])
    return own.union(*map(_descriptions, schema.values())) if schema else own


#: Four small letters in a row are a word that people read in their language; labels, units and
#: names of parts are the same in all of them.
SPOKEN = re.compile(r"[a-z]{4}")
NAMES = {"Modbus", "uint16", "uint32"}


def test_every_word_of_a_code_list_is_translated() -> None:
    versions = [("3.0", "1.58a"), ("3.5", "1.24"), ("3.5", "1.49"), ("3.9", "1.75")]
    spoken = {
        text
        for version in versions
        for text in _descriptions(command_table(Profile(*version)))
        if SPOKEN.search(text) and text not in NAMES
    }
    known = set(words("codes"))
    assert {
        text for text in spoken if text not in known and text.rpartition(" ")[0] not in known
    } == set()


def test_every_command_and_path_of_the_console_is_described_in_every_language() -> None:
    # The test bench has a page of its own.
    listed = [endpoint for endpoint in ENDPOINTS if endpoint.path != SIM_PATH]
    documented = {row.doc for row in TABLE} | {endpoint.doc for endpoint in listed}
    documented |= {row.body.what for row in TABLE if isinstance(row.body, Upload)}
    documented |= {parameter.doc for endpoint in listed for parameter in endpoint.query}
    entries = words("commands").values()
    # Names of fields: logic/console.test.js.
    assert documented - {entry["en"] for entry in entries} == set()
    described = [entry for entry in entries if entry["en"].endswith(".")]
    assert {entry["en"] for entry in described} - documented == set()
    assert [entry for entry in described if len(set(entry.values())) < len(LANGUAGES)] == []


def test_every_reading_of_a_module_has_its_name_in_every_language() -> None:
    names = {reading.name for module in MODULES.values() for reading in module.readings}
    known = set(words("readings"))
    assert {n for n in names if n not in known and n.rpartition(" ")[0] not in known} == set()
    assert known - names - {name.rpartition(" ")[0] for name in names} == set()


def test_every_fault_and_plant_of_the_simulated_board_is_named_in_every_language() -> None:
    options = {
        label
        for kind in FAULTS
        for field in fields_of(kind).values()
        if isinstance(field.type, OneOf)
        for label in field.type.labels
    }
    things = {*SETTABLE, *DIGITAL_INPUTS, *OUTPUTS}
    needed = {
        *(f"fails_{kind}" for kind in FAULTS),
        *(f"option_{option.replace(' ', '_')}" for option in options - things),
        *(f"plant_{kind}" for kind in KINDS),
        *(f"field_{name}" for kind in KINDS.values() for name in kind.fields),
    }
    known = words("simulation")
    assert needed - set(known) == set()
    spare = ("fails_", "option_", "field_")
    assert {key for key in known if key.startswith(spare)} - needed == set()
    left_in_english = {
        key for key in needed for text in list(known[key].values())[1:] if text == known[key]["en"]
    }
    assert left_in_english == set()
