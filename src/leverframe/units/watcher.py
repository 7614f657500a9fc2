"""Poll many units regularly at a limited rate, and keep their states.

Each unit has its own task, so that a slow unit does not delay another, and one client, so that it
never gets two requests in parallel. No answer of a unit can end its task.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from leverframe.core.engine.machine import Traced, Value
from leverframe.core.errors import ErrorForPeople
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import is_being_cancelled
from leverframe.interface.names import own_names
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitSilent
from leverframe.units.addresses import find_shared_macs, normal_mac
from leverframe.units.client import PacedClient, SignInNeeded, open_paced_client
from leverframe.units.comparison import DriftedSetting
from leverframe.units.live_values import LiveReader, LoginRefused
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_health import (
    ANSWER,
    DOUBLE,
    PULL,
    REACH,
    SIGN_IN,
    UnitHealth,
    UnitNotice,
)
from leverframe.units.unit_reader import pull_unit

log = logging.getLogger(__name__)

LOOK_EVERY_S = 30.0
#: Reading all settings takes about twenty requests.
PULL_EVERY_S = 900.0
ANSWER_S = 10.0

#: Differences from the wanted settings.
Compare = Callable[[PulledUnit], Sequence[DriftedSetting]]


class StrangerAnswers(ErrorForPeople):
    """A unit other than the expected one was read; the message is one sentence."""


class WatchedUnit(NamedTuple):
    """A unit as listed in the inventory."""

    name: str
    address: str
    login: UnitLogin | None = None
    ca_file: str | None = None
    #: Its required MAC address; empty uses that of the first poll.
    mac: str = ""
    #: None if no file defines its wanted settings.
    compare: Compare | None = None
    #: The groups of the inventory that it belongs to.
    tags: tuple[str, ...] = ()


class UnitWatcher:
    def __init__(
        self,
        units: Sequence[WatchedUnit],
        clock: Clock,
        *,
        look_every_s: float = LOOK_EVERY_S,
        pull_every_s: float = PULL_EVERY_S,
        on_notice: Callable[[UnitNotice], None] = lambda notice: None,
        on_values: Callable[[list[Traced]], None] = lambda samples: None,
        answer_s: float = ANSWER_S,
        paced: bool = True,
    ) -> None:
        self.units = {unit.name: unit for unit in units}
        self.health = {
            unit.name: UnitHealth(unit.name, unit.address, mac=unit.mac, tags=unit.tags)
            for unit in units
        }
        #: The last settings read from each unit.
        self.pulled: dict[str, PulledUnit] = {}
        self._clock = clock
        self._look_every_s = look_every_s
        self._pull_every_s = pull_every_s
        self._on_notice = on_notice
        self._on_values = on_values
        self._answer_s = answer_s
        self._paced = paced
        self._clients: dict[str, PacedClient] = {}
        self._readers: dict[str, LiveReader] = {}
        #: Polls and pulls of one unit take turns.
        self._turns = {unit.name: asyncio.Lock() for unit in units}
        self._next_pull = {unit.name: clock.now() for unit in units}
        self._recorded: dict[str, dict[str, Value]] = {unit.name: {} for unit in units}
        self._tasks: list[asyncio.Task[None]] = []
        self._opened = AsyncExitStack()

    async def open(self) -> None:
        """Create the clients; nothing is sent yet."""
        for unit in self.units.values():
            client = await self._opened.enter_async_context(
                open_paced_client(
                    unit.address,
                    unit.login,
                    unit.ca_file,
                    paced=self._paced,
                    answer_s=self._answer_s,
                    # The next poll is the retry.
                    retry_waits_s=(),
                )
            )
            self._clients[unit.name] = client
            self._readers[unit.name] = LiveReader(client)

    def start(self) -> None:
        """Start polling, each unit at a different moment."""
        count = len(self.units)
        for number, name in enumerate(self.units):
            wait_s = self._look_every_s * number / count
            self._tasks.append(asyncio.create_task(self._live(name, wait_s)))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._opened.aclose()

    async def _live(self, name: str, wait_s: float) -> None:
        await asyncio.sleep(min(wait_s, self._look_every_s))
        while not is_being_cancelled():
            await self.look(name)
            if self.health[name].is_up and self._clock.now() >= self._next_pull[name]:
                await self.pull(name)
            await asyncio.sleep(self.seconds_to_next_look(name))

    def seconds_to_next_look(self, name: str) -> float:
        """Return the seconds to the next poll; more after a rejected login, to avoid a lockout."""
        if SIGN_IN in self.health[name].by_look and self.units[name].login is not None:
            return max(self._look_every_s, self._pull_every_s)
        return self._look_every_s

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[PacedClient]:
        """Lend the client of a unit, which receives no other requests in the meantime."""
        async with self._turns[name]:
            try:
                yield self._clients[name]
            except LoginRefused:
                raise
            except SignInNeeded:
                raise LoginRefused(_why_no_sign_in(self.units[name])) from None

    async def look(self, name: str) -> UnitHealth:
        """Poll a unit once."""
        health = self.health[name]
        try:
            async with self.turn(name):
                reading = await self._readers[name].look()
                notices = health.take(reading, self._clock.read())
        except LoginRefused as refusal:
            notices = health.fail(SIGN_IN, str(refusal))
        except UnitSilent as silence:
            notices = health.fail(REACH, str(silence))
        except ErrorForPeople as nonsense:
            notices = health.fail(ANSWER, str(nonsense))
        except Exception:
            # A bug must not end the watch over this unit.
            log.exception("%s: a poll of the unit failed", name)
            notices = health.fail(
                ANSWER, "The answer of the unit could not be processed; see the log."
            )
        self._record(name)
        self._notify(notices)
        self._compare_macs()
        return health

    async def pull(self, name: str) -> PulledUnit | None:
        """Read the settings of a unit and compare them; None if they cannot be read."""
        health, unit = self.health[name], self.units[name]
        self._next_pull[name] = self._clock.now() + self._pull_every_s
        try:
            async with self.turn(name) as client:
                pulled = self.require_expected(name, await pull_unit(client))
                self.pulled[name], health.digest = pulled, pulled.digest
                differences = None if unit.compare is None else list(unit.compare(pulled))
        except ErrorForPeople as refusal:
            problem = f"The settings of the unit cannot be compared: {refusal}"
        except Exception:
            log.exception("%s: reading the settings failed", name)
            problem = "The settings of the unit could not be processed; see the log."
        else:
            health.names = own_names(pulled.settings)
            self._notify(health.note(PULL, None))
            self._notify(health.compare(differences))
            return pulled
        self._notify(health.compare(None))
        self._notify(health.note(PULL, problem))
        return None

    def require_expected(self, name: str, pulled: PulledUnit) -> PulledUnit:
        """Return the settings of a unit; reject another unit at its address."""
        health, mac = self.health[name], normal_mac(pulled.identity.mac) or ""
        if health.mac and mac != health.mac:
            raise StrangerAnswers(health.stranger(mac or "not readable"))
        return pulled

    def _notify(self, notices: Sequence[UnitNotice]) -> None:
        for notice in notices:
            self._on_notice(notice)

    def _record(self, name: str) -> None:
        """Record the changed values; an unknown value is absent."""
        health, before = self.health[name], self._recorded[name]
        now = self._clock.wall()
        values = {**dict.fromkeys(before), **health.values}
        changed = [
            (now, f"{name}/{label}", value)
            for label, value in values.items()
            if label not in before or before[label] != value
        ]
        health.note_changes(now, before)
        self._recorded[name] = values
        if changed:
            self._on_values(changed)

    def _compare_macs(self) -> None:
        """Report units with the same MAC address: a duplicate, or a unit listed twice."""
        shared = find_shared_macs((health.name, health.mac) for health in self.health.values())
        sentences = {
            name: f"The unit has the same MAC address {mac} as {_others(sharing, name)}."
            for mac, sharing in shared.items()
            for name in sharing
        }
        for name, health in self.health.items():
            if (sentence := sentences.get(name)) != health.troubles.get(DOUBLE):
                self._notify(health.note(DOUBLE, sentence, "fault"))


def _why_no_sign_in(unit: WatchedUnit) -> str:
    """Describe a rejected login in terms of the inventory, from which the watch reads logins."""
    if unit.login is None:
        return "The unit requires a login; set its `user` and `password` in the inventory."
    return (
        f"The unit rejects the login of {unit.login.name}; check its `user` and `password` in the"
        " inventory."
    )


def _others(names: Sequence[str], name: str) -> str:
    return ", ".join(other for other in names if other != name)
