"""The deadlines: one per key, in order, and no growth by moving them."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.timers import Key, Timers

A: Key = ("a",)
B: Key = ("b", 1)
C: Key = ("c", "x", 2)


def drain(timers: Timers, now: float) -> list[Key]:
    """Take out all keys that are due, as the engine does."""
    keys = []
    while (when := timers.next_due) is not None and when <= now:
        keys.append(timers.pop())
    return keys


def test_without_deadlines_nothing_is_next_or_due() -> None:
    timers = Timers()
    assert timers.next_due is None
    assert drain(timers, 1e18) == []
    assert len(timers) == 0


def test_keys_come_due_in_the_order_of_their_deadlines() -> None:
    timers = Timers()
    timers.set(A, 3.0)
    timers.set(B, 1.0)
    timers.set(C, 2.0)
    assert timers.next_due == 1.0
    assert drain(timers, 2.5) == [B, C]
    assert timers.next_due == 3.0


def test_keys_of_one_instant_come_in_the_order_they_were_set() -> None:
    timers = Timers()
    for key in (C, A, B):
        timers.set(key, 5.0)
    assert drain(timers, 5.0) == [C, A, B]


def test_key_is_due_at_its_deadline_and_not_before() -> None:
    timers = Timers()
    timers.set(A, 5.0)
    assert drain(timers, 4.999999) == []
    assert drain(timers, 5.0) == [A]
    assert drain(timers, 5.0) == []


def test_setting_a_key_again_moves_its_deadline() -> None:
    timers = Timers()
    timers.set(A, 5.0)
    timers.set(A, 9.0)
    assert timers.when(A) == 9.0
    assert len(timers) == 1
    assert drain(timers, 8.0) == []
    timers.set(A, 2.0)
    assert drain(timers, 8.0) == [A]


def test_cancelled_key_never_comes_due() -> None:
    timers = Timers()
    timers.set(A, 5.0)
    timers.cancel(A)
    timers.cancel(B)
    assert timers.when(A) is None
    assert timers.next_due is None
    assert drain(timers, 9.0) == []


def test_moving_a_deadline_for_ever_takes_no_memory() -> None:
    timers = Timers()
    timers.set(B, 1e12)
    for second in range(10_000):
        timers.set(A, float(second))
    assert len(timers._heap) < 40


Step = tuple[str, Key, float]
steps = st.tuples(
    st.sampled_from(["set", "cancel", "drain"]),
    st.sampled_from([A, B, C]),
    st.floats(0, 100),
)


@given(st.lists(steps, max_size=60))
def test_timers_act_like_a_plain_dictionary_that_is_searched(script: list[Step]) -> None:
    timers, plain = Timers(), dict[Key, float]()
    for verb, key, when in script:
        if verb == "set":
            timers.set(key, when)
            plain[key] = when
        elif verb == "cancel":
            timers.cancel(key)
            plain.pop(key, None)
        else:
            due = {key for key, deadline in plain.items() if deadline <= when}
            came = drain(timers, when)
            assert set(came) == due
            assert [plain[key] for key in came] == sorted(plain.pop(key) for key in list(came))
        assert timers.next_due == min(plain.values(), default=None)
        assert len(timers) == len(plain)
        assert {key: timers.when(key) for key in plain} == plain
