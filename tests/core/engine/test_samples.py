"""What the engine hands to the history: causes that repeat are recorded once in a batch."""

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


VALUES = st.dictionaries(
    st.sampled_from(LABELS), st.none() | st.integers() | st.floats(allow_nan=False)
)


@given(steps=st.lists(VALUES | st.sampled_from(LABELS)))
def test_samples_are_taken_in_the_order_in_which_they_were_added(
    steps: list[dict[str, float | int | None] | str],
) -> None:
    samples, expected = Samples(), list[Traced]()
    for moment, step in enumerate(steps):
        wall = float(moment)
        if isinstance(step, str):
            samples.append((wall, step, moment))
            expected.append((wall, step, moment))
        else:
            samples.add_first(wall, step, lambda label: BY_RULE)
            expected += [(wall, label, value) for label, value in step.items()]
            expected += [(wall, trace, BY_RULE) for trace in CAUSE_TRACES.values()]
    assert samples.waiting == len(expected)
    assert samples.take() == expected
    assert (samples.waiting, samples.take()) == (0, [])
