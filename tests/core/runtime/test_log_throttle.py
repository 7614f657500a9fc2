"""The log of what strangers do: one line a minute per source and kind, and the rest is counted."""

import logging

import pytest

from leverframe.core.runtime.log_lines import INTERVAL_S, MAX_LINES, MAX_REMEMBERED, LogThrottle


class HandClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def throttle(clock: HandClock) -> LogThrottle:
    return LogThrottle(logging.getLogger("throttled"), clock)


def test_each_source_logs_one_line_a_minute_with_the_number_omitted(
    throttle: LogThrottle, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        throttle.warning("192.0.2.1", "frame", "%s sent rubbish", "192.0.2.1")
    assert caplog.messages == ["192.0.2.1 sent rubbish"]
    clock.now += INTERVAL_S
    throttle.warning("192.0.2.1", "frame", "%s sent rubbish", "192.0.2.1")
    assert caplog.messages[1:] == ["192.0.2.1 sent rubbish (99 more since the last such line)"]


def test_other_sources_and_other_kinds_have_lines_of_their_own(
    throttle: LogThrottle, caplog: pytest.LogCaptureFixture
) -> None:
    for source, kind in (("a", "x"), ("b", "x"), ("a", "y"), ("a", "x"), ("a", "y")):
        throttle.warning(source, kind, "%s %s", source, kind)
    assert caplog.messages == ["a x", "b x", "a y"]


def test_made_up_sources_fill_neither_the_log_nor_the_memory(
    throttle: LogThrottle, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5 * MAX_REMEMBERED):
        throttle.warning(str(number), "datagram", "%d", number)
    assert len(caplog.messages) == MAX_LINES
    assert len(throttle._sources) == MAX_REMEMBERED
    clock.now += INTERVAL_S
    throttle.warning("another", "datagram", "another")
    assert caplog.messages[-1] == "another"
