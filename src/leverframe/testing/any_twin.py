"""The methods of every twin, in this process or another one.

The actions of a test do not use the port of the twin: they need no account, are not affected by
faults, and do not count as requests of a client. Only `get` acts as a client, over the network.

Importing this module loads neither the controller nor a client: methods import what they need.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote
from weakref import WeakSet

from leverframe.core.durations import Duration, WhenText, seconds_of, wall_of
from leverframe.core.errors import ErrorForPeople
from leverframe.testing.observations import TwinOutbox
from leverframe.testing.seeds import is_within_test, new_seed, write_call
from leverframe.testing.transport import (
    READ_COMMUNITY,
    WRITE_COMMUNITY,
    TwinAddress,
    TwinRefused,
    TwinSnapshot,
    beside_loop,
)
from leverframe.testing.twin_parts import FaultyTwin, RequestedTwin, TwinClock

if TYPE_CHECKING:
    from leverframe.testing.initial_state import Beginning
    from leverframe.units.pulled_unit import PulledUnit

DAY = "1d"
STATUS = "/json/status.json"
#: The number of requests and of journal entries in a report.
REPORTED = 20
#: All twins that were started and still exist.
STARTED_TWINS: "WeakSet[AnyTwin]" = WeakSet()
_NUMBERS = count(1)
#: The title of a refusal because a condition was not met. Any other title means that the condition
#: is invalid.
CONDITION_NOT_MET = "The condition was not met"
BAD_REQUEST = 400

Awaited = str | Callable[[], object]


class TwinNotReached(ErrorForPeople, AssertionError):
    """A condition was not met before its limit; the message is one sentence."""


class AnyTwin(RequestedTwin, FaultyTwin):
    """A controller for a test. Start it with `with`, `async with`, or `start` and `close`."""

    #: The unit or recording that was given as `settings`, with the settings that it does not show
    #: (`unread`).
    recorded_unit: "PulledUnit | None" = None
    #: Whether a test must close the twin; a controller of a node elsewhere keeps running.
    ends_with_test = True

    def __init__(self, **given: Any) -> None:
        #: The parameters of the constructor, for the call that creates the same twin again.
        self._given = given
        #: The number of this twin in the order of creation in this process.
        self.number = next(_NUMBERS)
        #: The messages that it would have sent: e-mails, SMS, HTTP, MQTT and traps.
        self.outbox = TwinOutbox(
            lambda: self._json("/api/outbox"), lambda: self._operate("/sim.cgi?outbox=clear")
        )
        #: The clock of the twin, which the code under test can use.
        self.clock = TwinClock(lambda: self.now)
        #: The result of `report` when the twin was closed within a test, or because of an error.
        self.last_report: str | None = None
        #: Twins that are closed together with this one.
        self._forks: list[AnyTwin] = []

    def _begin(self, scope: Mapping[str, Any]) -> "Beginning":
        """Read the parameters of a constructor; `scope` contains its local names."""
        from leverframe.testing.initial_state import read_beginning

        given = {name: value for name, value in scope.items() if name != "self"}
        given["port"] = given["port"] or None
        beginning = read_beginning(given)
        self.seed = new_seed() if given["seed"] is None else given["seed"]
        self.zone, self.recorded_unit = beginning.zone, beginning.pulled
        AnyTwin.__init__(self, **given)
        return beginning

    @classmethod
    def _load(cls, call: str, path: str | Path, parameters: dict[str, Any]) -> Self:
        """Return a twin that starts from a saved snapshot."""
        from leverframe.testing.initial_state import parameters_of, read_snapshot

        saved = read_snapshot(path)
        twin = cls(**parameters_of(saved[1], parameters))
        twin._made_by, twin._given = call, {"path": str(path), **parameters}
        twin._transport.saved = saved
        return twin

    def start(self) -> Self:
        """Switch the twin on, on free ports."""
        self.last_report = None
        self._transport.start()
        STARTED_TWINS.add(self)
        return self

    def close(self) -> None:
        """Switch the twin off and release its resources."""
        self._keep_report()
        for fork in self._forks:
            fork.close()
        self._forks.clear()
        self._transport.close()

    @property
    def name(self) -> str:
        """Its current name."""
        name: str = self._json(STATUS)["sname"]
        return name

    @property
    def mac(self) -> str:
        """Its MAC address."""
        mac: str = self._json(STATUS)["mac"]
        return mac

    @property
    def modbus(self) -> TwinAddress:
        """The address of its Modbus TCP server."""
        return self._port("modbus", "Modbus TCP", "stm.cgi?modbuson=1")

    @property
    def snmp(self) -> TwinAddress:
        """The address of its SNMP agent, by UDP."""
        return self._port("snmp", "SNMP", f"stm.cgi?snmp=1*{READ_COMMUNITY}*{WRITE_COMMUNITY}")

    def _port(self, key: str, what: str, command: str) -> TwinAddress:
        port, host = self.state["ports"].get(key), self._transport.host
        if port is None or host is None:
            raise RuntimeError(self._transport.closed.format(key=key, what=what, command=command))
        return TwinAddress(host, port)

    def snapshot(self) -> TwinSnapshot:
        """Return a snapshot: settings, state, timers, plants, clock and messages.

        `snapshot().save("warm.snapshot")` saves it for other runs, which use
        `Twin.load("warm.snapshot")`.
        """
        return self._transport.snapshot()

    def restore(self, snapshot: TwinSnapshot) -> None:
        """Resume from a snapshot and discard everything since then."""
        from leverframe.testing.initial_state import state_of

        self._transport.go_back(state_of(snapshot, self._transport.keeper))
        self.clock.was_moved()

    def reset(self) -> None:
        """Restore the initial state, and discard the requests, messages and uploads since then.

        The audit trail is kept, as it is after a factory reset.
        """
        self._transport.reset()
        self.clock.was_moved()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._leave(error)

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await asyncio.to_thread(self._leave, error)

    def _leave(self, error: BaseException | None) -> None:
        try:
            if error is not None:
                self.last_report = self.report()
        finally:
            self.close()

    def _keep_report(self) -> None:
        """Keep the report for a test that fails later, or that has already failed (`finally`)."""
        is_wanted = sys.exc_info()[1] is not None or (self._reports_each_end and is_within_test())
        if self.is_on and self.last_report is None and is_wanted:
            # A failing report must neither hide the error nor prevent closing.
            with suppress(Exception):
                self.last_report = self.report()

    # --- requests ---------------------------------------------------------------------------------

    def get(self, path: str, *, auth: tuple[str, str] | None = None) -> str:
        """Return the text that a client gets; raise `TwinRefused` if the request is refused."""
        from leverframe.testing.misuse import check_auth, check_texts
        from leverframe.testing.twin_client import fetch_text

        check_texts("get", [path], "/json/all.json")
        check_auth(auth)
        return fetch_text(self.url, path, auth or self.account, self.ca_file, self.door)

    aget = beside_loop(get)

    def command(self, *commands: str) -> None:
        """Carry out commands such as `outs.cgi?out0=1`, one after the other.

        A body follows its command after a space: `post.cgi?sched_save s0=...`.
        """
        from leverframe.testing.misuse import check_texts

        check_texts("command", commands, "outs.cgi?out0=1")
        for command in commands:
            target, _, body = command.partition(" ")
            self._operate("/" + target.lstrip("/"), "POST" if body else "GET", body.encode())

    acommand = beside_loop(command)

    # --- values -----------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """Every value by its label, in real units, and the other fields of `/api/state`."""
        state: dict[str, Any] = self._json("/api/state")
        return state

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting as a tree; secrets read `***`."""
        settings: dict[str, Any] = self._json("/api/settings")
        return settings

    @property
    def journal(self) -> list[dict[str, Any]]:
        """The journal: what happened and its cause, oldest first."""
        entries: list[dict[str, Any]] = self._json("/api/log")
        return entries

    def explain(self, label: str) -> str:
        """Explain in sentences why a value is as it is."""
        from leverframe.testing.observations import explain

        return explain(label, self.state, self._json("/api/rules"), self.journal, self.zone)

    @property
    def recipe(self) -> str:
        """The call that creates the same twin again, with its seed but without passwords."""
        return write_call(self._made_by, {**self._given, "seed": self.seed})

    #: The name of the call that creates such a twin.
    _made_by = "Twin"
    #: Whether the report is cheap enough to keep it whenever the twin is closed within a test.
    _reports_each_end = False

    def report(self) -> str:
        """List the last requests and journal entries, for debugging.

        The last line is the call that creates the same twin again, with its seed.
        """
        requests = [str(request) for request in self.requests()[-REPORTED:]]
        happened = [
            f"{datetime.fromtimestamp(entry['time'], self.zone):%Y-%m-%d %H:%M:%S}"
            f" {entry['cause']} {entry['detail']}: {entry['text']}"
            for entry in self.journal[-REPORTED:]
        ]
        return "\n".join(
            [
                f"{self!r} at {self.now:%Y-%m-%d %H:%M:%S}",
                "Last requests of clients:",
                *(f"  {line}" for line in requests or ["none"]),
                "What happened last:",
                *(f"  {line}" for line in happened or ["nothing"]),
                f"To recreate this twin: {self.recipe}",
            ]
        )

    async def astate(self) -> dict[str, Any]:
        """Return the same as `state`, without blocking the event loop of the test."""
        return await asyncio.to_thread(lambda: self.state)

    # --- the world --------------------------------------------------------------------------------

    def sense(self, readings: Mapping[str, float | None] | None = None, **more: Any) -> None:
        """Set the readings of the board by label, all at one instant; None unplugs.

        Use `sense(DS1=21.5)`, or `sense({"PM2.5": 12})` for labels that are not names in Python.
        """
        from leverframe.testing.misuse import as_readings, check_labels

        items = {**as_readings(readings), **more}
        check_labels(items)
        if items:
            query = "&".join(f"{label}={_encode_reading(value)}" for label, value in items.items())
            self._operate(f"/sim.cgi?{query}")

    asense = beside_loop(sense)

    def unplug(self, *labels: str) -> None:
        """Unplug sensors: their readings become absent."""
        from leverframe.testing.misuse import check_texts

        check_texts("unplug", labels, "DS1")
        self.sense(dict.fromkeys(labels))

    def sim(self, *items: str) -> None:
        """Change the board by items of `/sim.cgi`, at one instant: `sim("ping=router:none")`."""
        from leverframe.testing.misuse import check_texts

        check_texts("sim", items, "ping=router:none")
        self._operate("/sim.cgi?" + "&".join(items))
        self.clock.was_moved()

    # --- time -------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The wall time of the twin, in its time zone."""
        return datetime.fromtimestamp(self.state["time"], self.zone)

    def advance(self, duration: Duration) -> None:
        """Let time pass; everything that becomes due happens before this returns.

        The duration is `"10min"`, `"1h30m"`, a number of seconds, or a `timedelta`.
        """
        self._operate(f"/sim.cgi?advance={seconds_of(duration)!r}")
        self.clock.was_moved()

    aadvance = beside_loop(advance)

    def advance_to(self, moment: WhenText) -> None:
        """Let time pass until a moment: `"2026-03-29T03:00"`, a `datetime`, or seconds since 1970.

        A moment without an offset is local time. A moment in the past is an error.
        """
        wall = self.state["time"]
        self.advance(seconds_of(wall_of(moment, self.zone) - wall))

    aadvance_to = beside_loop(advance_to)

    def until(self, condition: Awaited, limit: Duration = DAY) -> None:
        """Let time pass until a condition is met; raise `TwinNotReached` after the limit.

        Conditions such as `"DS1 >= 30"` or `"Pump = on or DS2 < -5"` compare labels or names by
        `>`, `<`, `>=`, `<=`, `==`, `=` and `!=` with a number, `on`, `off` or `none`, joined with
        `and`, `or` and parentheses. A function without arguments is possible, too, but slower. The
        condition is checked now and after every due event.
        """
        from leverframe.testing.misuse import check_condition

        check_condition(condition)
        limit_s = seconds_of(limit)
        if not isinstance(condition, str):
            is_reached = self._wait_for(condition, limit_s)
        else:
            is_reached = self._wait_in_twin(condition, limit_s)
        if not is_reached:
            raise TwinNotReached(f"{condition!r} was not met within {limit}.")

    def _wait_in_twin(self, condition: str, limit_s: float) -> bool:
        """Let the twin advance its time until a condition is met; return whether it was met."""
        from leverframe.testing.rule_words import BadRule

        awaited = quote(f"{condition}*within:{limit_s:.6f}", safe="")
        try:
            self._operate(f"/sim.cgi?until={awaited}")
        except TwinRefused as refused:
            if refused.title == CONDITION_NOT_MET:
                return False
            if refused.status == BAD_REQUEST:
                raise BadRule(refused.sentence.removeprefix("Field until: ")) from None
            raise
        finally:
            self.clock.was_moved()
        return True

    def _wait_for(self, holds: Callable[[], object], limit_s: float) -> bool:
        while not holds():
            if limit_s <= 0:
                return False
            limit_s -= self._step(limit_s)
        return True

    def _step(self, limit_s: float) -> float:
        """Let time pass until something is due, at most `limit_s`; return the passed seconds."""
        passed_s = self._transport.step(limit_s)
        self.clock.was_moved()
        return passed_s

    auntil = beside_loop(until)

    # --- rules ------------------------------------------------------------------------------------

    def rule(
        self,
        when: str,
        then: str,
        *,
        hysteresis: float = 0.0,
        on_delay: Duration = 0,
        off_delay: Duration = 0,
        permanent: bool = False,
    ) -> int:
        """Add a rule, enable it, and return its number, counted from 1.

        Examples: `rule(when="DS1 >= 30 until 28", then="eMail 1")`, `rule(when="INPD1 is on and
        DS1 < 5", then="OUT0 on, ends after 10min")`. Settings that a message needs and that are not
        set yet (server, recipient, text) are set, too; a new text is the condition.
        """
        from leverframe.core.settings import free_place
        from leverframe.interface.table.rules import event_query
        from leverframe.testing.misuse import check_number, check_texts
        from leverframe.testing.rule_words import BadRule, missing_setup, rule_from_words

        check_texts("rule", (when, then), "DS1 >= 30")
        check_number("hysteresis", hysteresis)
        delays = seconds_of(on_delay), seconds_of(off_delay)
        rule = rule_from_words(when, then, self.profile, hysteresis, *delays)
        settings = self.settings
        index = free_place(settings["rules"])
        query = event_query(index, rule, self.profile)
        if query is None:
            raise BadRule(f"{self.profile} cannot express a rule {when!r}, then {then!r}.")
        self.command(*missing_setup(rule.action, when, settings))
        switched_on = [f"inpa.cgi?eventon={index}*1"]
        if permanent:
            switched_on.insert(0, f"inpa.cgi?eventper={index}*1")
        self.command(f"inpa.cgi?{query}", *switched_on)
        return index + 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.profile} seed {self.seed}>"


def _encode_reading(value: Any) -> str:
    if value is None:
        return "none"
    return quote(str(int(value) if isinstance(value, bool) else value), safe=":")
