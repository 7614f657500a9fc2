"""The journal: the text of an entry is built when it is read."""

import pytest

from leverframe.core.engine import journal as change_description
from leverframe.core.engine.journal import Cause, ChangeDescription, Journal


def test_text_of_a_change_is_built_once_when_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, make = [], change_description._leaf_text

    def count_text(path: str, old: object, new: object) -> str:
        made.append(path)
        return make(path, old, new)

    monkeypatch.setattr(change_description, "_leaf_text", count_text)
    journal = Journal()
    journal.add(0.0, Cause("command"), ChangeDescription.of([("outputs.0.name", "", "Pump")], {}))
    assert made == []
    # What is collected on the event loop, another thread reads.
    (unread,) = journal.unread_since(0)
    assert made == []
    entry = unread.read()
    assert made == ["outputs.0.name"]
    assert journal.since(0) == [entry]
    assert entry.text == entry.fact.figures["text"] == 'outputs.0.name changed from "" to "Pump"'
