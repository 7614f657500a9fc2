"""What goes wrong at a twin on purpose, and what it answers instead of its own."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from leverframe.moments import Duration, seconds_of
from leverframe.testing.transport import TwinAccess

if TYPE_CHECKING:
    from leverframe.hardware.fault_catalogue import Fault


class TwinFault:
    """A fault that has been set; it ends with its `with`, by `end`, or when it expires."""

    def __init__(self, text: str, end: Callable[[], None]) -> None:
        #: What it is, as `/sim.cgi?fault=` takes it.
        self.text = text
        self._end = end

    def end(self) -> None:
        """End it; a fault that has already ended is not an error."""
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

        `path` chooses requests; `times`, `after`, `for_` and `chance` say how often and when it
        acts, as far as the kind takes them. Chance is the same in every run with the same seed.
        """
        from leverframe.hardware.fault_catalogue import FAULTS
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
        """Let the status files say these texts under their keys, whatever is measured.

        `raw(ds1="-1270")`, also an empty text; None lets them say what is measured again.
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
        """Answer a path like this from now on: `with twin.reply("/own.json", json={"a": 1}): ...`.

        Also a path that exists, for which nothing else is done then; the newest answer counts, and
        one that ends in `/` is for all below it. Other faults act on it, and no account is needed.
        Without a content type it is text/plain, or application/json.
        """
        from leverframe.testing.faults import reply

        answer = reply(
            path, body, status=status, json=json, headers=headers, content_type=content_type
        )
        return self.fault(answer, times=times, after=after, for_=for_)

    def reboot(self, takes: Duration = 5) -> None:
        """Restart it: it is off, and cannot be reached, until that much time has passed."""
        from leverframe.testing.faults import reboot

        self.fault(reboot(seconds_of(takes)))

    @property
    def pins(self) -> dict[str, float]:
        """What the pins of the simulated board show: outputs 0 or 1, PWM outputs in percent.

        After active low, faults of relays and the rest, so not always what `state` says; then the
        frequencies and pull-ups that were set.
        """
        pins: dict[str, float] = self._json("/api/sim")["pins"]
        return pins

    def _check_that_it_meets_something(self, fault: "Fault") -> None:
        """Refuse a path at which nothing answers, and a key that no status file has."""
        from leverframe.testing.misuse import check_raw_key, own_paths, unknown

        path = fault.fields.get("path")
        if path is not None and fault.kind != "reply" and not self._knows_path(path):
            raise unknown("fault: path", path, {*own_paths(), *self._own_answers()})
        if fault.kind == "raw" and path is None:
            check_raw_key(fault.fields["key"], self.profile)

    def _end_fault(self, number: int, text: str) -> None:
        """End a fault; do nothing where it has ended.

        After a restore its number can be that of another one, which was set since.
        """
        if self.is_on and (number, text) in self._present_faults():
            self._operate(f"/sim.cgi?fault=end:{number}")
