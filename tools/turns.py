"""Choose the next test of each worker of a test run, so that all workers are busy to the end."""

from collections import deque
from collections.abc import Sequence
from itertools import groupby

#: The places of the tests that take or wait longest; these tests begin first.
LONGEST = (
    *("tests/units/test_inventory_story.py", "tests/docs/test_site.py", "tests/soak"),
    # Browser tests of up to 20 s each: at the end of a run, one of them would leave a core idle.
    *("tests/web/test_setting_pages.py", "tests/web/test_fleet_page.py"),
    *("tests/web/test_findings_on_status.py", "tests/web/test_tasks.py"),
    "tests/testing/test_installed_wheels.py",
    *("tests/docs", "tests/fleet/faults", "tests/fleet/cluster", "tests/crash"),
    *(
        "tests/host/test_no_files_left.py",
        "tests/host/test_overload.py",
        "tests/host/test_imports.py",
    ),
    *(
        "tests/host/test_session_in_browser.py",
        "tests/host/test_stop.py",
        "tests/host/test_disk.py",
    ),
    *("tests/server/snmp", "tests/server/discovery", "tests/notify"),
    *("tests/testing/recordings", "tests/units", "tests/server/test_refused_secrets.py"),
    "tests/web",
)


class Turns:
    """Assigns tests by their index in a list; each worker stays in one file as long as possible.

    Every second worker starts at the other end, so that tests that wait run beside tests that need
    a core.
    """

    def __init__(self, names: Sequence[str], workers: int) -> None:
        order = sorted(range(len(names)), key=lambda place: _rank(names[place]))
        files = groupby(order, key=lambda place: names[place].partition("::")[0])
        self._files = deque(deque(places) for _, places in files)
        self._begun: list[deque[int]] = [deque() for _ in range(workers)]

    def next_of(self, worker: int) -> int | None:
        """Return the next test for a worker; None if nothing is left."""
        if not self._begun[worker]:
            self._begun[worker] = self._another_file(worker)
        own = self._begun[worker]
        return own.popleft() if own else None

    def give_back(self, worker: int, places: Sequence[int]) -> None:
        """Let the worker's successor start with the tests that the worker did not run."""
        self._begun[worker].extendleft(reversed(places))

    def _another_file(self, worker: int) -> deque[int]:
        if self._files:
            return self._files.pop() if worker % 2 else self._files.popleft()
        longest = max(self._begun, key=len)
        return deque(reversed([longest.pop() for _ in range((len(longest) + 1) // 2)]))


def _rank(name: str) -> int:
    """Return the rank of a test's place among the longest; other tests get the last rank."""
    ranks = (rank for rank, place in enumerate(LONGEST) if name.startswith(place))
    return next(ranks, len(LONGEST))
