"""The parts of a twin: its clock, its faults and its requests."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from leverframe.core.durations import Duration, seconds_of
from leverframe.testing.transport import TwinAccess

if TYPE_CHECKING:
    from leverframe.devices.simulated.fault_catalogue import Fault
    from leverframe.testing.observations import TwinRequest


# The time of twins for the code under test, whose clock and event loop can follow it.


class TwinClock:
    """The time of one twin, or of all twins of a fleet."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._followers: list[Callable[[], None]] = []

    @property
    def now(self) -> datetime:
        """The present wall time."""
        return self._now()

    @contextmanager
    def moving_with(self, mover: Any) -> Iterator[None]:
        """Keep the time of the code under test equal to the twins' time.

        `mover` is the module `time_machine` or `freezegun`, or an object of either that sets the
        time: the fixture `time_machine`, a traveller, a frozen time, the fixture `freezer`.
        """
        with ExitStack() as stack:
            if hasattr(mover, "travel"):
                mover = stack.enter_context(mover.travel(self.now, tick=False))
            elif hasattr(mover, "freeze_time"):
                mover = stack.enter_context(mover.freeze_time(self.now))
            if not hasattr(mover, "move_to"):
                raise TypeError(
                    f"{mover!r} cannot move the time; pass time_machine, freezegun, or one of"
                    " their fixtures."
                )

            def follow() -> None:
                mover.move_to(self.now)

            follow()
            self._followers.append(follow)
            stack.callback(self._followers.remove, follow)
            yield

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return an event loop whose timers follow this clock, for asyncio code under test.

        With `asyncio.Runner(loop_factory=twin.clock.new_event_loop)`, `asyncio.sleep(3600)` ends
        when the twins have advanced by an hour.
        """
        loop = _TwinTimeLoop(lambda: self.now.timestamp())
        self._followers.append(loop.wake)
        loop.when_closed = lambda: self._followers.remove(loop.wake)
        return loop

    def was_moved(self) -> None:
        """Notify everything that follows this clock."""
        for follow in tuple(self._followers):
            follow()


class _TwinTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._read = now
        self._seen = now()
        self._elapsed_s = 0.0
        self.when_closed: Callable[[], None] | None = None

    def time(self) -> float:
        return self._elapsed_s

    def wake(self) -> None:
        """Update the time, and run timers that are due."""
        # A restore sets the twins back; this clock continues from where it is.
        seen, self._seen = self._seen, self._read()
        self._elapsed_s += max(self._seen - seen, 0.0)
        self.call_soon_threadsafe(lambda: None)

    def close(self) -> None:
        forget, self.when_closed = self.when_closed, None
        if forget is not None:
            forget()
        super().close()


# Faults that are set on a twin, and answers that replace its own.


class TwinFault:
    """A fault that has been set; it ends with its `with`, by `end`, or when it expires."""

    def __init__(self, text: str, end: Callable[[], None]) -> None:
        #: The fault in the syntax of `/sim.cgi?fault=`.
        self.text = text
        self._end = end

    def end(self) -> None:
        """End the fault; ending it again is not an error."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def __repr__(self) -> str:
        return f"<TwinFault {self.text}>"


class FaultyTwin(TwinAccess):
    """A twin on which faults can be set."""

    _faults_set = 0

    def fault(
        self,
        fault: "Fault",
        *,
        path: str | None = None,
        times: int | None = None,
        after: Duration | None = None,
        for_: Duration | None = None,
        chance: float | None = None,
        seed: int | None = None,
    ) -> TwinFault:
        """Set a fault: `with twin.fault(faults.slow("5s"), times=2): ...`.

        `path` selects requests; `times`, `after`, `for_` and `chance` define how often and when the
        fault acts, if its kind supports them. With the same seed, `chance` has the
        same result in every run.
        """
        from leverframe.devices.simulated.fault_catalogue import FAULTS
        from leverframe.testing.misuse import check_fault

        check_fault(fault)
        if seed is None and "seed" in FAULTS[fault.kind].scopes and "seed" not in fault.given:
            seed = (self.seed + self._faults_set) % 2**31
        self._faults_set += 1
        whole = fault.within(
            path=path,
            times=times,
            after=None if after is None else seconds_of(after),
            for_=None if for_ is None else seconds_of(for_),
            chance=chance,
            seed=seed,
        )
        self._check_that_it_meets_something(whole)
        number = self._transport.set_fault(whole)
        return TwinFault(whole.text, lambda: self._end_fault(number, whole.text))

    def raw(self, **values: str | None) -> None:
        """Put these texts under their keys in the status files, whatever is measured.

        For example `raw(ds1="-1270")`, or an empty text; None restores the measured value.
        """
        from leverframe.testing.faults import raw
        from leverframe.testing.misuse import check_raw_key

        for key in values:
            check_raw_key(key, self.profile)
        for key, value in values.items():
            for number, text in self._present_faults():
                if text.startswith("raw*") and f"*key:{key}*" in f"{text}*":
                    self._end_fault(number, text)
            if value is not None:
                self.fault(raw(key, value))

    def reply(
        self,
        path: str,
        body: str | bytes = "",
        *,
        status: int = 200,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        content_type: str | None = None,
        times: int | None = None,
        after: Duration | None = None,
        for_: Duration | None = None,
    ) -> TwinFault:
        """Answer a path with a reply: `with twin.reply("/own.json", json={"a": 1}): ...`.

        It also replaces the answer of an existing path, which then has no other effect. The newest
        reply takes precedence; a path that ends in `/` includes all paths below it. Other faults
        affect the reply, and it needs no account. The default content type is text/plain, or
        application/json with `json`.
        """
        from leverframe.testing.faults import reply

        answer = reply(
            path, body, status=status, json=json, headers=headers, content_type=content_type
        )
        return self.fault(answer, times=times, after=after, for_=for_)

    def reboot(self, takes: Duration = 5) -> None:
        """Restart it: it is off and cannot be reached until this time has passed."""
        from leverframe.testing.faults import reboot

        self.fault(reboot(seconds_of(takes)))

    @property
    def pins(self) -> dict[str, float]:
        """The pins of the simulated board: outputs as 0 or 1, PWM outputs in percent.

        The values include the effects of active-low settings and faults of relays, so they may
        differ from `state`; frequencies and pull-ups are listed after the pins.
        """
        pins: dict[str, float] = self._json("/api/sim")["pins"]
        return pins

    def _check_that_it_meets_something(self, fault: "Fault") -> None:
        """Reject a path at which nothing answers, and a key that no status file has."""
        from leverframe.testing.misuse import check_raw_key, own_paths, unknown

        path = fault.fields.get("path")
        if path is not None and fault.kind != "reply" and not self._knows_path(path):
            raise unknown("fault: path", path, {*own_paths(), *self._own_answers()})
        if fault.kind == "raw" and path is None:
            check_raw_key(fault.fields["key"], self.profile)

    def _end_fault(self, number: int, text: str) -> None:
        """End a fault; do nothing if it has already ended.

        After a restore, its number may belong to another fault that was set since.
        """
        if self.is_on and (number, text) in self._present_faults():
            self._operate(f"/sim.cgi?fault=end:{number}")


# The requests that clients sent to a twin, with lists and assertions.


class RequestedTwin(TwinAccess):
    """A twin that shows the requests of clients."""

    def requests(
        self,
        path: str | None = None,
        *,
        method: str | None = None,
        query: str | Mapping[str, object] | None = None,
    ) -> "list[TwinRequest]":
        """List the newest 2000 requests of clients, oldest first, or only those that match.

        A path is complete, or ends in `/` to include all paths below it. A query is the complete
        text, or some of its items, `{"out0": 1}`. A path at which nothing ever answers is an error.
        Possible secrets read `***`, and at most 4 MiB are kept.
        """
        from leverframe.testing.misuse import (
            check_method,
            check_path,
            check_query,
            own_paths,
            unknown,
        )
        from leverframe.testing.observations import matching, requests_from

        path = None if path is None else check_path(path)
        method = None if method is None else check_method(method)
        check_query(query)
        everything = requests_from(self._operate("/api/sim/requests"), self.zone)
        found = matching(everything, path, method, query)
        is_known = found or path is None or matching(everything, path, None, None)
        if not is_known and path is not None and not self._knows_path(path):
            raise unknown("Path", path, {*own_paths(), *self._own_answers()})
        return found

    def assert_requested(
        self,
        path: str,
        *,
        times: int | None = None,
        method: str | None = None,
        query: str | Mapping[str, object] | None = None,
    ) -> "list[TwinRequest]":
        """Return the requests that match; fail if there are none, or not exactly `times`.

        Example: `assert_requested("/outs.cgi", times=1, query={"out0": 1})`. The failure lists the
        actual requests, most similar first.
        """
        from leverframe.testing.misuse import BadCall
        from leverframe.testing.observations import NotRequested, unmet

        if times is not None and (isinstance(times, bool) or not isinstance(times, int)):
            raise BadCall(f"times must be a number of requests such as 1, not {times!r}.")
        found = self.requests(path, method=method, query=query)
        if len(found) == times or (times is None and found):
            return found
        raise NotRequested(unmet(self.requests(), found, path, method, query, times))

    def clear_requests(self) -> None:
        """Forget the requests so far."""
        self._operate("/sim.cgi?requests=clear")
