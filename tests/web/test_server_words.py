"""Sentences of the server that pages show: each is found in `words/server.json`, translated.

A page finds a sentence by its text: places hold what differs. So a new sentence
needs its entry here, in all languages. Whatever ends as a sentence does, anywhere in the parts
whose sentences can come to a page, is taken for one: who writes one for others says so in
`ELSEWHERE`.
"""

import ast
import errno
import functools
import json
import os
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

import leverframe
from leverframe.devices.simulated.fault_catalogue import FAULTS, FreeText, RequestPath, fields_of
from leverframe.devices.simulated.plant_wiring import KINDS, Field, Number
from leverframe.devices.wire import modbus
from leverframe.fleet.fleet_file import ControllerTable, read_fleet
from leverframe.host.configuration.keys import describe_type
from leverframe.host.configuration.reader import Sources
from leverframe.storage import sqlite_file

SOURCES = Path(leverframe.__file__).parent
WORDS = json.loads(
    (Path(str(resources.files("leverframe"))) / "web" / "words" / "server.json").read_text("utf-8")
)
#: The refusals and troubles whose sentences come to people in the pages.
SHOWN = {
    *("BadValue", "Malformed", "Conflict", "Locked", "NotAllowed", "SignInRequired"),
    *("TooManyCommands", "UnsupportedBody", "ForeignPage", "BadUpload", "BackupRefused"),
    *("StoreUnavailable", "CannotSend", "UnknownCommand", "NotOffered", "Withdrawn"),
    *("WrongMethod", "DeviceFailed", "NoSuchPath", "BadHistoryQuery", "NoLiveSnapshot"),
    *("BadField", "BadFault", "BadPlant", "BadDuration", "UnknownProfile", "TooManyTries"),
    *("Unusable", "ModemRefused", "ModemUnavailable", "ConnectionError", "NoTemperature"),
}
#: Of a fleet: what stands in a terminal, in files and in metrics, not on its page.
OF_FLEET_COMMANDS = (
    *("fleet/controller_commands.py", "fleet/operator_commands.py", "fleet/node_commands.py"),
    *("fleet/fleet_file.py", "fleet/metrics.py", "fleet/scenario.py", "fleet/client.py"),
    *("fleet/serve.py", "fleet/operations/table.py", "fleet/node_storage.py"),
)
#: Whose sentences come to others: the command line, the start of the program.
NOT_FOR_PAGES = (
    *("server/sms_commands.py", "server/discovery.py", "server/mdns.py"),
    *("interface/exchange.py", "interface/exchange_comparison.py"),
    *("host/configuration/", "host/command_line/", "host/maintenance/", "units/", "testing/"),
    *(f"host/{name}.py" for name in ("api_client", "assembly", "firmware_check", "logs", "ports")),
    *(f"host/{name}.py" for name in ("reach", "recordings", "scenario", "serve", "services")),
    *(f"host/{name}.py" for name in ("simulate", "start_version", "terminal", "what_if")),
    *("storage/snapshots.py", "storage/lanes/", *OF_FLEET_COMMANDS),
)
#: Of the commands that make keys and images, and of the start of a node.
OF_COMMANDS = (
    *("Name the hardware", "This is not a private key", "This is not a public key"),
    *("7: the node listens on", "7: port 7 of 7 cannot be used"),
    *("7 cannot be used for the other nodes", "7 It cannot be replaced: 7."),
    "7 There is no intact snapshot of the store.",
    "7 holds sealed secrets, which a template cannot pass on.",
    # Of metrics, searches and roll-outs on the command line.
    *("More than 7 addresses were named", "7 is not an address", "7: interrupted."),
    # To clients that send a file in a form, which pages do not.
    "The form cannot be read: ",
    # Of addresses and plan files that commands name.
    *("7 is not an address; write", "More than 7 addresses were named"),
    *("7 has the format 7; this version writes", "7 is not a plan of this version"),
)
#: What is allowed: names of the protocols are the same in every language.
SPOKEN = re.compile(r"[a-z]{4}")
WITHOUT_WORDS = re.compile(r"/x-www-form|COMMAND|^UTF-8|^\{?&|^add=TAG")
#: Where a trouble or a reason is kept before it is shown: by a name, or as an argument.
KEPT_AS = ("reason", "problem", "complaint")
KEPT_BY = {"note": 1, "left_behind": 2, "_give_up": 0, "_require_virtual_time": 0, "end": 0}
#: Functions that make sentences of troubles.
RETURNED = ("notify/channel.py", "devices/readings.py", "devices/module_slot.py")
#: Sentences of parts that stand elsewhere: as which wholes a page gets them.
COMPOSED = {
    "7: 7": (),
    "7 7 of function 7": ("bits 7 of function 7 (7)", "registers 7 of function 7 (7)"),
    "7 7; check its unit ID, and the gateway if there is one.": (
        "7 does not answer; check its unit ID, and the gateway if there is one.",
        "7 sends invalid answers; check its unit ID, and the gateway if there is one.",
    ),
    "7 bit/s, parity 7, 7 7": (
        "7 bit/s, parity 7, 7 stop bit",
        "7 bit/s, parity 7, 7 stop bits",
    ),
    "The unit differs from its file: 77.": (
        "The unit differs from its file: 7.",
        "The unit differs from its file: 7, and 7 more.",
    ),
    "This moment has passed7.": (
        "This moment has passed.",
        "This moment has passed for 7.",
        "This moment has passed for 7 and 7 more.",
    ),
    "7 has no command 7.7": ("7 has no command 7.", "7 has no command 7. It exists under 7."),
    "7 refuses 7: 7.": ("7 refuses to be read: 7.", "7 refuses to be written: 7."),
    "7 refuses 77.": ("7 refuses all requests: 7.", "7 refuses 7."),
    "7 with slave ID 77": ("7 with slave ID 7", "7 with slave ID 7 at 7"),
    "The command 7 7.": (
        "The command 7 does not accept a value.",
        "The command 7 accepts no other form.",
        "The command 7 begins with 7.",
        "The command 7 has 7 fields.",
        "The command 7 has 7 fields; the request has 7.",
    ),
    "the SIM card is not ready: 7.7": ("the SIM card is not ready: 7.",),
    "7 7 last good snapshot (7) is in use: changes made after it are missing.": (
        "7 It was set aside in 7, and the last good snapshot (7) is in use: changes made after it "
        "are missing.",
        "7 What is left of it was set aside in 7, and the last good snapshot (7) is in use: changes"
        " made after it are missing.",
        "7 The last good snapshot (7) is in use: changes made after it are missing.",
    ),
}
#: The parts whose sentences can come to a page, as refusals, troubles, findings or entries.
PARTS = (
    *("core/", "devices/", "fleet/", "host/controller/", "interface/plan/", "interface/table/"),
    *("interface/uploads/", "interface/version_change/", "notify/", "server/", "storage/"),
    # The page of a watch shows what it finds on units, and what became of a plan.
    *(f"units/{name}.py" for name in ("addresses", "client", "live_values", "execution")),
    *(f"units/{name}.py" for name in ("proof", "search", "unit_health", "unit_lock")),
    *(f"units/{name}.py" for name in ("unit_plan", "unit_reader", "watch_changes", "watch_web")),
    "units/watcher.py",
)
#: Where sentences in these parts come to others, or to pages in another way.
ELSEWHERE = (
    # The pages show these by their kind, in words of their own (`findings`, `journal`, `rules`).
    *("host/controller/findings.py", "core/engine/findings.py", "core/engine/journal.py"),
    *(f"core/engine/rule_{name}.py" for name in ("advice", "explanation", "report")),
    # A catalogue, whose texts are tested as fragments.
    "devices/simulated/fault_catalogue.py",
    # Pages that carry their own languages.
    *("server/routes/sign_in.py", "server/routes/sentence_page.py"),
    "fleet/entrance.py",
    # To who starts the program: what its configuration says of the board.
    "devices/wiring.py",
    # To programs: answers by SMS, MQTT and TFTP, metrics, the MIB, broken HTTP.
    *("server/sms_commands.py", "server/mqtt.py", "server/routes/metrics.py", "fleet/metrics.py"),
    *("devices/wire/tftp.py", "devices/wire/snmp.py", "server/http/parser.py"),
    *("server/http/messages.py", "server/http/connection.py"),
    # To tests: files of snapshots are taken and loaded by the kit.
    "host/controller/snapshot.py",
    # To programs in `/health`: why keys of the fleet file have no effect.
    "fleet/member_start.py",
    # To who starts the program, or types a command.
    *("devices/linux/board_check.py", "storage/datafolder.py", "storage/encryption.py"),
    *("storage/lanes/node_folder.py", "storage/lanes/postgres_schema.py", *OF_FLEET_COMMANDS),
    "server/http/certificate.py",
)
#: Arguments of these are no sentences of pages: logs, descriptions of the interface, errors of
#: the program.
NOT_SHOWN = {
    *("Family", "RuntimeError"),
    *("debug", "info", "warning", "error", "exception", "critical", "Meta", "QueryParameter"),
    *("execute", "executemany", "Family"),
}
#: Parts of wholes that are tested as such, and what is said to the log.
PARTS_OF_OTHERS = (
    " A different value deletes the password unless `em4` sets it in the same request.",
    *(" It exists under 7.", " The last good snapshot (7) is in use."),
    "refused a stream to %s: it has too many open",
)
#: What ends as a sentence does.
SENTENCE = re.compile(r"[a-z)7`]\.( 7)?$")
#: What the operating system says of a network, a disk or a device.
OF_THE_SYSTEM = (
    *(errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ECONNRESET),
    *(errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EPIPE, errno.EACCES, errno.EPERM, errno.ENOENT),
    *(errno.ENOSPC, errno.EROFS, errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EIO, errno.ENODEV),
    *(errno.EBUSY, errno.EMFILE, errno.ENOMEM),
)
#: A fleet file in which every controller has a mistake.
MISTAKEN = """\
virtual_time = true
tenants = ["acme"]
[[controllers]]
name = "b"
tags = "north"
[[controllers]]
name = "b"
hwx = "3.0"
[[controllers]]
name = "b"
quite_unlike = 7
[[controllers]]
tags = ["a"]
[[controllers]]
name = "b"
tenant = "gone"
[[controllers]]
name = "b"
board = { kind = "linux" }
"""
#: Stands for whatever a place holds.
FILLED = "7"


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    pieces = (one.value if isinstance(one, ast.Constant) else FILLED for one in node.values)
    return "".join(map(str, pieces))


def _walk(path: Path) -> Iterator[tuple[ast.AST, bool]]:
    """Give every node of a file, and whether its text can reach a page.

    Docstrings, logs, descriptions and parts of texts are not.
    """
    left: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), True)]
    while left:
        node, is_shown = left.pop()
        match node:
            case ast.Name():
                continue
            case ast.Call():
                is_shown = is_shown and _name_of_call(node) not in NOT_SHOWN
            case ast.keyword(arg="doc" | "description"):
                is_shown = False
            case ast.AnnAssign(target=ast.Name(id="_GAUGES" | "_COUNTERS")):
                is_shown = False
            case ast.Expr(ast.Constant()):
                is_shown = False
        yield node, is_shown
        inside = is_shown and not isinstance(node, ast.JoinedStr)
        left += [(child, inside) for child in ast.iter_child_nodes(node)]


def _name_of_call(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _refusal(node: ast.AST) -> str | None:
    """Find the sentence of a refusal, also of one that is returned or kept before a raise."""
    match node:
        case ast.Call(args=[first, *_]) if _name_of_call(node) in SHOWN:
            return _text(first)
        case ast.keyword(arg="allowed"):
            text = _text(node.value)
            if text is not None and SPOKEN.search(text) and not WITHOUT_WORDS.search(text):
                return text
    return None


def _notes(node: ast.AST) -> Iterator[str]:
    """Find the sentences of troubles, and why a setting was not carried over."""
    values: list[ast.expr] = []
    match node:
        case ast.Assign(targets=[ast.Name(id=name), *_]) if name in KEPT_AS:
            values = [node.value]
        case ast.Call() if _name_of_call(node) in KEPT_BY:
            values = node.args[KEPT_BY[_name_of_call(node)] :]
    for text in map(_text, values):
        if text is not None and " " in text:
            yield text


def _ends_as_sentence(text: str) -> bool:
    return bool(SENTENCE.search(text)) and len(SPOKEN.findall(text)) > 1


def _list_returned(path: Path) -> Iterator[str]:
    for node, _ in _walk(path):
        if isinstance(node, ast.Return) and node.value is not None:
            text = _text(node.value)
            if text is not None and " " in text and "charset=" not in text:
                yield text


def _constants(path: Path) -> Iterator[str]:
    """Find sentences that stand at the top of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        text = _text(node.value) if isinstance(node, ast.Assign) else None
        if text is not None and text.endswith("."):
            yield text


def _files_of(part: str) -> Iterator[Path]:
    path = SOURCES / part
    assert path.exists(), part
    return iter([path]) if path.is_file() else path.rglob("*.py")


class FileTexts(NamedTuple):
    """The texts of one file; to read and walk it takes longer than to look for all of them."""

    refusals: list[str]
    notes: list[str]
    sentences: list[str]


@functools.cache
def _texts_in(path: Path) -> FileTexts:
    texts = FileTexts([], [], [])
    for node, is_shown in _walk(path):
        texts.notes.extend(_notes(node))
        if (refusal := _refusal(node)) is not None:
            texts.refusals.append(refusal)
        if is_shown and (text := _text(node)) is not None and _ends_as_sentence(text):
            texts.sentences.append(text)
    return texts


@functools.cache
def anywhere() -> set[str]:
    """Return whatever ends as a sentence does in the parts whose sentences come to pages."""
    return {
        text
        for part in PARTS
        for path in _files_of(part)
        if not path.relative_to(SOURCES).as_posix().startswith(ELSEWHERE)
        for text in _texts_in(path).sentences
        if " " in text and text not in PARTS_OF_OTHERS and not text.startswith(OF_COMMANDS)
    }


def fragments() -> set[str]:
    """Return what stands in places of sentences: reasons of the system, the store, modules."""
    return {
        *map(os.strerror, OF_THE_SYSTEM),
        *modbus.EXCEPTION_WORDS.values(),
        *sqlite_file.REASONS.values(),
        *(text for kind in FAULTS.values() for text in (kind.doc, kind.real)),
        *(plant.doc for plant in KINDS.values()),
        *(text for field in _list_fields() for text in (field.doc, *_words_of(field))),
    }


def _list_fields() -> Iterator[Field]:
    for kind in FAULTS:
        yield from fields_of(kind).values()
    for plant in KINDS.values():
        yield from plant.fields.values()


def _words_of(field: Field) -> Iterator[str]:
    """Give the words of what a field allows; limits and labels are the same everywhere."""
    if isinstance(field.type, FreeText | RequestPath):
        yield field.type.allowed
    elif isinstance(field.type, Number):
        yield field.type.unit


def controller_keys() -> set[str]:
    """Return what mistakes in a fleet file say about a controller."""
    return {describe_type(one.type) for one in msgspec.structs.fields(ControllerTable)}


def sentences() -> set[str]:
    found: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        place = path.relative_to(SOURCES).as_posix()
        if not place.startswith(NOT_FOR_PAGES):
            found.update(_texts_in(path).refusals)
        if place.startswith(("devices/", "interface/", "server/routes/")):
            found.update(_texts_in(path).notes)
    for place in RETURNED:
        found.update(_list_returned(SOURCES / place))
    for place in ("devices/linux/onewire.py", "devices/bus_worker.py"):
        found.update(_constants(SOURCES / place))
    return {text for text in found if not text.startswith(OF_COMMANDS)}


@functools.cache
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
    texts = sentences()
    assert len(texts) > 250
    assert set(COMPOSED) <= texts | anywhere()
    wholes = {whole for text in texts for whole in COMPOSED.get(text, (text,))}
    assert sorted(one for one in wholes if not any(p.fullmatch(one) for p in known)) == []


def test_every_sentence_is_translated_or_for_another_place() -> None:
    known, texts = patterns(), anywhere()
    assert len(texts) > 150
    wholes = {whole for text in texts for whole in COMPOSED.get(text, (text,))}
    assert sorted(one for one in wholes if not any(p.fullmatch(one) for p in known)) == []


def test_every_place_that_is_named_here_exists() -> None:
    places = {*PARTS, *ELSEWHERE, *NOT_FOR_PAGES, *RETURNED}
    assert sorted(place for place in places if not (SOURCES / place).exists()) == []


def test_new_sentence_would_be_found(tmp_path: Path) -> None:
    source = tmp_path / "new.py"
    source.write_text('def name(place):\n    return f"{place} speaks another language."\n')
    assert _texts_in.__wrapped__(source).sentences == ["7 speaks another language."]
    source.write_text('"""Say nothing."""\nlog.info("This is for the log alone.")\n')
    assert _texts_in.__wrapped__(source).sentences == []


def test_placeholders_of_sentences_are_translated() -> None:
    known = patterns()
    spoken = {text for text in fragments() if SPOKEN.search(text)}
    assert len(spoken) > 30
    assert sorted(one for one in spoken if not any(p.fullmatch(one) for p in known)) == []


def test_fleet_file_mistakes_that_a_node_reports_are_translated(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(MISTAKEN, encoding="utf-8")
    mistakes = [one.sentence for one in read_fleet(Sources(file, {}, {})).mistakes]
    assert len(mistakes) == MISTAKEN.count("[[controllers]]")
    without_place = [one.partition(": ")[2] for one in mistakes]
    whole = [*mistakes, *(one.removeprefix("b: ") for one in without_place), *controller_keys()]
    known = patterns()
    assert sorted(one for one in whole if not any(p.fullmatch(one) for p in known)) == []


def test_no_entry_is_for_a_missing_sentence() -> None:
    text = "".join(path.read_text("utf-8") for path in SOURCES.rglob("*.py"))
    text += (SOURCES / "web" / "lib" / "live" / "api.js").read_text("utf-8")
    text += "\n".join(whole for wholes in COMPOSED.values() for whole in wholes)
    text += "\n".join(fragments())
    text += "\n".join(controller_keys())
    # Sentences stand in several lines of the source.
    joined = re.sub(r'"\s*\n\s*(?:else )?f?"', "", text)
    for key, entry in WORDS.items():
        longest = max(re.split(r"\{\w+\}|[.:;] ", entry["en"]), key=len)
        assert longest.strip(" .:;,()") in joined, (key, longest)


@pytest.mark.parametrize("language", ["pl", "fr", "hu", "cs"])
def test_translation_has_no_places_but_those_of_its_sentence(language: str) -> None:
    for key, entry in WORDS.items():
        places, own = (set(re.findall(r"\{(\w+)\}", entry[one])) for one in ("en", language))
        assert own <= places, key


@pytest.mark.parametrize("language", ["pl", "fr", "hu", "cs"])
def test_no_sentence_was_left_in_english(language: str) -> None:
    assert [key for key, entry in WORDS.items() if entry[language] == entry["en"]] == []
