"""The clock of rules about time advances on its own, and stands while others have the processor."""

import os
import subprocess
import sys
import time

import pytest

from tests import stopwatch
from tests.patience import PATIENCE_S
from tests.stopwatch import Stopwatch, delay_s, within


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the last of these says."""
    delays = [7.0]
    monkeypatch.setattr(stopwatch, "delay_s", lambda: delays[-1])
    return delays


def test_time_of_other_processes_is_not_counted(delays: list[float]) -> None:
    now = [100.0]
    watch = Stopwatch(lambda: now[-1])
    now.append(103.0)
    assert watch.seconds() == 3.0
    delays.append(9.0)
    assert watch.seconds() == 1.0


def test_work_that_takes_too_long_alone_is_refused(delays: list[float]) -> None:
    with pytest.raises(AssertionError, match="it took"), within(0.001):
        time.sleep(0.002)
    with within(1.0):
        delays.append(8.0)


def test_processor_that_is_shared_holds_up_who_would_run() -> None:
    allowed = os.sched_getaffinity(0)
    one = min(allowed)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            os.sched_setaffinity(other.pid, {one})
            os.sched_setaffinity(0, {one})
            before, end = delay_s(), time.monotonic() + PATIENCE_S
            while delay_s() < before + 0.05:
                assert time.monotonic() < end
        finally:
            os.sched_setaffinity(0, allowed)
            other.kill()
