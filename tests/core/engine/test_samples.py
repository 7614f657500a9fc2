"""What the engine hands to the history: causes that repeat are recorded once in a batch."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.journal import Cause
from leverframe.core.engine.machine import CAUSE_TRACES, Samples, Traced
from leverframe.core.labels import LABELS

BY_HAND = Cause("command", "admin")
BY_RULE = Cause("rule", "1", number=1)


def test_cause_that_repeats_is_recorded_once_for_each_output() -> None:
    samples = Samples()
    for wall in (1.0, 2.0):
        samples.add_cause(wall, "OUT1", BY_HAND)
        samples.add_cause(wall, "OUT2", BY_HAND)
    assert samples == [(1.0, "OUT1.cause", BY_HAND), (1.0, "OUT2.cause", BY_HAND)]


def test_cause_that_returns_after_another_is_recorded_again() -> None:
    samples = Samples()
    for wall, cause in ((1.0, BY_HAND), (2.0, BY_RULE), (3.0, BY_HAND)):
        samples.add_cause(wall, "OUT1", cause)
    assert [cause for _, _, cause in samples] == [BY_HAND, BY_RULE, BY_HAND]


def test_each_batch_has_all_its_causes_so_that_a_lost_batch_does_no_harm() -> None:
    samples = Samples()
    samples.add_cause(1.0, "OUT1", BY_HAND)
    samples.clear()
    samples.add_cause(2.0, "OUT1", BY_HAND)
    assert samples == [(2.0, "OUT1.cause", BY_HAND)]


def test_each_cause_after_a_full_report_is_recorded() -> None:
    samples = Samples()
    samples.add_cause(1.0, "OUT1", BY_HAND)
    samples.add_first(2.0, {}, lambda label: BY_RULE)
    samples.add_cause(3.0, "OUT1", BY_HAND)
    assert [sample for sample in samples.take() if sample[1] == "OUT1.cause"] == [
        (1.0, "OUT1.cause", BY_HAND),
        (2.0, "OUT1.cause", BY_RULE),
        (3.0, "OUT1.cause", BY_HAND),
    ]


FEW_LABELS = st.sampled_from(LABELS[:3])
FEW_VALUES = st.none() | st.integers(0, 2)
#: Seconds since the step before, and one value or those of a start.
STEP = st.tuples(
    st.integers(0, 1),
    st.tuples(FEW_LABELS, FEW_VALUES) | st.dictionaries(FEW_LABELS, FEW_VALUES),
)


def changes_of(rows: Iterable[Traced]) -> dict[str, list[tuple[float, object]]]:
    """Return by label what the history records: values that differ from the one before."""
    changes: dict[str, list[tuple[float, object]]] = {}
    for wall, label, value in rows:
        of_label = changes.setdefault(label, [])
        if not of_label or of_label[-1][1] != value:
            of_label.append((wall, value))
    return changes


@given(steps=st.lists(STEP))
def test_samples_record_the_same_changes_as_rows_of_all_values(
    steps: list[tuple[int, tuple[str, int | None] | dict[str, int | None]]],
) -> None:
    samples, rows, wall = Samples(), list[Traced](), 0.0
    for later_s, step in steps:
        wall += later_s
        if isinstance(step, tuple):
            samples.append((wall, *step))
            rows.append((wall, *step))
        else:
            samples.add_first(wall, step, lambda label: BY_RULE)
            rows += [(wall, label, value) for label, value in step.items()]
            rows += [(wall, trace, BY_RULE) for trace in CAUSE_TRACES.values()]
    waiting, taken = samples.waiting, samples.take()
    assert changes_of(taken) == changes_of(rows)
    assert [row[0] for row in taken] == sorted(row[0] for row in taken)
    assert (len(taken), samples.waiting, samples.take()) == (waiting, 0, [])
