"""The threads in which traps are sent; they live while somebody has a trap to send."""

from concurrent.futures import ThreadPoolExecutor

#: A receiver that does not acknowledge an inform holds one of them for some seconds.
AT_A_TIME = 4


class TrapThreads:
    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._users = 0

    def take(self) -> ThreadPoolExecutor:
        """Return the threads, and keep them until they are given back as often as taken."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(AT_A_TIME, "traps")
        self._users += 1
        return self._executor

    def give_back(self) -> None:
        """End the threads after what they have to do, if nobody else has taken them."""
        self._users -= 1
        if self._users == 0 and self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None
