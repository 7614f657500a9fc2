"""The check of the project's English: it finds words in each place, and can fail."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tools import words
from tools.words import Allowed, Offence, find_offences, judge, read_rules

RULES = replace(read_rules(), allowed=())


def offences(folder: Path, name: str, text: str) -> list[Offence]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return list(find_offences(folder, [name], RULES))


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ('"""The client is told why."""\n', "text", 1),
        ("X = 1\n#: The client is told\n#: why.\n", "comment", 2),
        ('raise ValueError(f"{1} is told")\n', "text", 1),
        ("def send() -> None:\n    was_told = 1\n", "name", 2),
        ("class ClientTold:\n    pass\n", "name", 1),
        ("def listed() -> None:\n    pass\n", "participle", 1),
        ("class Fleet:\n    def _sent_now(self) -> None:\n        pass\n", "participle", 2),
        ("def send(given: int) -> None:\n    pass\n", "parameter", 1),
        ("def test_a_rule_acts() -> None:\n    pass\n", "name", 1),
    ],
)
def test_offence_in_python_is_found_with_its_kind_and_line(
    tmp_path: Path, text: str, kind: str, line: int
) -> None:
    (found,) = offences(tmp_path, "src/module.py", text)
    assert (found.kind, found.line) == (kind, line)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "# Title\n\nThe client is told.\n"),
        ("src/leverframe/web/app.js", 'show("You are told.");\n'),
        ("src/leverframe/web/words/log.json", '{"a": {"en": "You are told", "pl": "told"}}'),
        ("src/leverframe/server/routes/page.json", '{"en": {"a": "told"}, "pl": {"a": "told"}}'),
    ],
)
def test_offence_in_documents_and_pages_is_found_once(tmp_path: Path, name: str, text: str) -> None:
    assert len(offences(tmp_path, name, text)) == 1


FORBIDDEN = (
    *("told", "tells", "anew", "whoever", "somebody", "nobody", "mend", "deed", "goes on"),
    *("at once", "is led to", "passed over", "did not start", "meanwhile", "no matter who"),
    *("asked politely", "lives by", "lived through"),
)


@pytest.mark.parametrize("word", FORBIDDEN)
def test_each_forbidden_word_is_found_in_any_case(word: str) -> None:
    assert RULES.pattern.search(f"It {word}.")
    assert RULES.pattern.search(word.capitalize())
    assert RULES.pattern.search(f"x_{word.replace(' ', '_')}_y")


def test_phrase_across_two_lines_is_found(tmp_path: Path) -> None:
    (found,) = offences(tmp_path, "module.py", "# The roll-out goes\n# on later.\n")
    assert found.word == "goes # on"


@pytest.mark.parametrize(
    "text",
    [
        "class Fleet:\n    @property\n    def connected(self) -> bool:\n        return True\n",
        "def need(seed: int) -> None:\n    pass\n",
        "def read(file: object) -> int:\n    return file.tell()\n",
        "#: An amendment, and a toll.\n",
    ],
)
def test_good_python_has_no_offence(tmp_path: Path, text: str) -> None:
    assert offences(tmp_path, "module.py", text) == []


def judge_with(found: Sequence[Offence], *allowed: Allowed) -> tuple[int, list[str]]:
    left, unused = judge(iter(found), replace(RULES, allowed=allowed))
    return len(left), [one.text for one in unused]


def test_exception_covers_its_files_and_text_alone(tmp_path: Path) -> None:
    found = offences(tmp_path, "src/module.py", "# The client is told.\n")
    stored = Allowed("src/*", "is told", "a stored name")
    assert judge_with(found, stored) == (0, [])
    assert judge_with(found, replace(stored, place="docs/*")) == (1, ["is told"])
    assert judge_with(found, replace(stored, text="told them")) == (1, ["told them"])


def test_unused_exception_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("The client gets a reply.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    rules = replace(RULES, allowed=(Allowed("*", "told", "nothing"),))
    monkeypatch.setattr(words, "read_rules", lambda: rules)
    monkeypatch.setattr(words, "list_files", lambda _root, _paths: ["README.md"])
    assert words.main([]) == 1
    assert "'told' in * is unused" in capsys.readouterr().out
    assert words.main(["README.md"]) == 0


def test_offence_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("The client is told.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(words, "read_rules", lambda: RULES)
    monkeypatch.setattr(words, "list_files", lambda _root, _paths: ["README.md"])
    assert words.main([]) == 1
    assert "README.md:1: text: The client is told." in capsys.readouterr().out


def test_each_exception_of_the_project_has_a_reason() -> None:
    assert all(one.reason and one.place for one in read_rules().allowed)
