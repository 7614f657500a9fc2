"""EVENT1-EVENT8: set, reversed, and forgotten by a restart."""

from leverframe.core.engine.calls import OFF, ON, REVERSE, Switch
from leverframe.core.labels import EVENT_VARIABLES
from tests.cases import for_each

from .bench import Bench


@for_each("label", EVENT_VARIABLES)
@for_each(
    ("before", "value", "after"),
    [(0, OFF, 0), (0, ON, 1), (0, REVERSE, 1), (1, OFF, 0), (1, ON, 1), (1, REVERSE, 0)],
)
def test_set_command_moves_a_variable_to_the_given_state(
    label: str, before: int, value: int, after: int
) -> None:
    bench = Bench()
    bench.do(Switch(label, before))
    bench.do(Switch(label, value))
    assert bench.values[label] == after
    assert all(bench.values[other] == 0 for other in EVENT_VARIABLES if other != label)


def test_variable_drives_nothing_and_sets_no_deadline() -> None:
    bench = Bench()
    bench.effects()
    bench.switch_on("EVENT3")
    assert bench.effects() == []
    assert bench.due_in() is None


def test_variables_are_0_after_a_restart() -> None:
    bench = Bench()
    bench.switch_on("EVENT8")
    bench.restart()
    assert [bench.values[label] for label in EVENT_VARIABLES] == [0] * 8


def test_journal_records_only_changes_of_a_variable_with_their_cause() -> None:
    bench = Bench()
    bench.switch_on("EVENT1")
    bench.switch_on("EVENT1")
    bench.reverse("EVENT1")
    assert bench.history() == ["command test: EVENT1 on", "command test: EVENT1 off"]


def test_change_is_news_for_the_status() -> None:
    bench = Bench()
    before = bench.engine.machine.version
    bench.switch_on("EVENT1")
    assert bench.engine.machine.version > before
