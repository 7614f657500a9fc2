"""Pings for the watchdog: ICMP echo requests to real hosts.

Every ping is a separate task, and each watchdog entry has at most one task: a new ping cancels the
previous one, so that a late answer is never mistaken for the answer to a later ping. Names are
resolved in separate threads, because a lookup blocks for a long time if the name server does not
answer.

A raw socket is tried first, then the kernel's ping socket, which needs no rights if
`net.ipv4.ping_group_range` allows it. Any failure counts as no answer and is logged once.
"""

import asyncio
import importlib
import logging
import socket
import time
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from ipaddress import ip_address

from leverframe.core.engine.calls import PingHost
from leverframe.core.runtime.outgoing import ForbiddenTarget, OutgoingChannel

log = logging.getLogger(__name__)

#: The number of watchdog entries of a controller, so that no lookup waits for another lookup.
LOOKUPS_AT_A_TIME = 6

_NO_PERMISSION = (
    "pings cannot be sent, so every host counts as silent: allow pings with"
    " `setcap cap_net_raw+ep` on the Python program, or for a group of users with"
    " `sysctl net.ipv4.ping_group_range`"
)


class Pinger:
    """The sender of pings; it reports the entry and the milliseconds, or None for no answer."""

    __slots__ = (
        "__weakref__",
        "_answered",
        "_logged",
        "_looking_up",
        "_lookups",
        "_tasks",
        "_way_out",
    )

    def __init__(
        self,
        answered: Callable[[int, float | None], None],
        lookups: Executor,
        way_out: OutgoingChannel,
    ) -> None:
        self._answered = answered
        self._way_out = way_out
        self._lookups = lookups
        self._tasks: dict[int, asyncio.Task[None]] = {}
        #: Entries whose name is being resolved; a lookup cannot be cancelled.
        self._looking_up: set[int] = set()
        self._logged: set[str] = set()

    def ping(self, effect: PingHost) -> None:
        """Start a ping; the result is reported later."""
        former = self._tasks.pop(effect.entry, None)
        if former is not None:
            former.cancel()
        task = asyncio.get_running_loop().create_task(self._ping(effect))
        self._tasks[effect.entry] = task
        task.add_done_callback(partial(self._forget, effect.entry))

    async def close(self) -> None:
        """Cancel all pings; no further result is reported."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, entry: int, task: asyncio.Task[None]) -> None:
        if self._tasks.get(entry) is task:
            del self._tasks[entry]

    async def _ping(self, effect: PingHost) -> None:
        milliseconds: float | None = None
        try:
            async with asyncio.timeout(effect.timeout_s):
                address = await self._address(effect)
                self._way_out.check(effect.host, address)
                milliseconds = await self._echo(address, effect.timeout_s)
        except (socket.gaierror, UnicodeError):
            # UnicodeError: a name with an empty part cannot be looked up.
            self._log_once(f"the name of the watchdog's host {effect.host} cannot be resolved")
        except ForbiddenTarget as error:
            self._log_once(f"the watchdog does not ping: {error}")
        except (TimeoutError, OSError):
            # An unreachable host is one that does not answer, which is for the watchdog to handle.
            pass
        except Exception as error:
            # The watchdog must also get a result after any other failure.
            self._log_once(f"the watchdog's host {effect.host} cannot be pinged: {error!r}")
        self._answered(effect.entry, milliseconds)

    async def _address(self, effect: PingHost) -> str:
        """Return the address of a host; a host that is given as an address is not looked up."""
        if _is_address(effect.host):
            return effect.host
        if effect.entry in self._looking_up:
            raise TimeoutError
        lookup = asyncio.get_running_loop().run_in_executor(self._lookups, _look_up, effect.host)
        self._looking_up.add(effect.entry)
        lookup.add_done_callback(partial(self._finish_lookup, effect.entry))
        return await asyncio.shield(lookup)

    def _finish_lookup(self, entry: int, lookup: "asyncio.Future[str]") -> None:
        self._looking_up.discard(entry)
        if not lookup.cancelled():
            # Retrieve the failure here, because the waiting task may have ended.
            lookup.exception()

    async def _echo(self, address: str, timeout_s: float) -> float | None:
        """Return the milliseconds until the answer, by a clock that is never adjusted."""
        # The module is already loaded, by a thread, because the controller has watchdog entries.
        import icmplib  # type: ignore[import-untyped]

        for privileged in (True, False):
            sent = time.monotonic()
            try:
                host = await icmplib.async_ping(
                    address, count=1, timeout=timeout_s, privileged=privileged
                )
            except icmplib.SocketPermissionError:
                continue
            except icmplib.ICMPLibError:
                return None
            return (time.monotonic() - sent) * 1000 if host.is_alive else None
        self._log_once(_NO_PERMISSION)
        return None

    def _log_once(self, text: str) -> None:
        if text not in self._logged:
            self._logged.add(text)
            log.warning("%s", text)


def load() -> None:
    """Import the package for pings in a thread before the first ping; few controllers need it."""
    importlib.import_module("icmplib")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _look_up(host: str) -> str:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    # Prefer IPv4 if a name has both kinds of address, because controllers of this kind are used in
    # IPv4 networks.
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return str(found[0][4][0])
