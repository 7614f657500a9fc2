"""Notices to systemd that the service is ready, alive, or stopping.

The messages go to the socket that systemd names in the environment; without one nothing is sent.
The sign of life comes from the event loop itself, so a controller that hangs is started again.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

#: Between two looks at how far a start or stop has come, and what is asked for where it goes on.
LOOK_EVERY_S = 5.0
MORE_TIME_S = 30.0


class Supervisor:
    def __init__(self, environment: dict[str, str] | None = None) -> None:
        known = os.environ if environment is None else environment
        self._address = known.get("NOTIFY_SOCKET", "")
        # The watchdog is meant for one process, not for those that inherit its environment.
        is_ours = known.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        limit_us = int(known.get("WATCHDOG_USEC", "0") or 0) if is_ours else 0
        #: Seconds between two signs of life; None where none is expected.
        self.interval_s = limit_us / 2e6 if self._address and limit_us else None

    def ready(self) -> None:
        self._send("READY=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    @asynccontextmanager
    async def given_time(self, progress: Callable[[], int]) -> AsyncIterator[None]:
        """Extend the time-out of systemd for a start or stop for as long as it goes on."""
        asking = asyncio.create_task(self._ask_for_time(progress)) if self._address else None
        try:
            yield
        finally:
            if asking is not None:
                asking.cancel()

    async def _ask_for_time(self, progress: Callable[[], int]) -> None:
        last = -1
        while True:
            if (now := progress()) != last:
                self._send(f"EXTEND_TIMEOUT_USEC={MORE_TIME_S * 1e6:.0f}")
                last = now
            await asyncio.sleep(LOOK_EVERY_S)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):
            address = f"\0{address[1:]}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notice:
            try:
                notice.connect(address)
                notice.send(message.encode())
            except OSError:
                # A supervisor that asked for signs of life but does not take them gets none.
                return
