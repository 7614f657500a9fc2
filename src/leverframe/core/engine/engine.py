"""The engine: the complete behaviour of a controller, as calls with a moment that return effects.

No call waits. The controller calls `apply` for a request, `sense` for readings of the board, and
`tick` at `next_deadline`, and applies the effects in order. After a restart it creates a new engine
from the same settings and the persisted values. An engine that moves to another process is created
from its live state, and resumes (`portable_state.py`).

The steps within one call, in this order:

1. readings from the board, or the actions of a request;
2. derived readings: dew point, power and energy, then differentials, which may use all other
   readings;
3. rules, which are all evaluated with the same values;
4. actions of those rules, in the order of the rules;
5. steps 2-4 again if the actions changed values, at most `MAX_STEPS` times. If rules still trigger
   each other then, a "rule loop" is logged, and the labels that changed last rest for `REST_S`:
   until then, rules are not evaluated for changes of these labels. All other rules keep running.
   Afterwards the labels are evaluated in the next call that changes a value, or at a deadline if
   one of them changed while it rested. So a loop neither switches outputs rapidly nor uses the
   computing time of other controllers;
6. timers that are due at this moment, one after the other, each followed by steps 2-5.

Deadlines before the moment of a call are served first, each at its own time, so late calls cause no
drift. Only if a call is later than `MAX_LATE_S` are deadlines served late. Otherwise many missed
deadlines would be served in a burst: relays would switch rapidly, and pings that were never sent
would time out. A simulated clock must advance from `next_deadline` to `next_deadline`, except for
the deadlines that `skip_quiet` passes. A deadline that a feature sets in the past is due
immediately.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import Any

from leverframe.core.engine.actuator import Actuator
from leverframe.core.engine.calls import (
    ON,
    Action,
    ChangeClock,
    DriveOutput,
    Effect,
    EnterBootloader,
    FollowDuty,
    FollowSetting,
    ForgetCounters,
    ModemCommand,
    NextOneWireId,
    Pulse,
    RaiseRestartFlag,
    Restart,
    ResumeWatchdog,
    SendModem,
    SendTest,
    SetClock,
    SetEnergy,
    StartBootloader,
    Switch,
    WriteModbus,
    WriteToModule,
)
from leverframe.core.engine.display import Display
from leverframe.core.engine.energy import Energy
from leverframe.core.engine.event_variables import EventVariables
from leverframe.core.engine.inputs import Differentials, Inputs
from leverframe.core.engine.journal import BY_START, Cause, Fact
from leverframe.core.engine.machine import Feature, Machine, Value
from leverframe.core.engine.outputs import Outputs
from leverframe.core.engine.pid import PidRegulator
from leverframe.core.engine.pwm import PwmOutputs
from leverframe.core.engine.rules import RESTED, Rules
from leverframe.core.engine.schedule import Schedule
from leverframe.core.engine.texts import TEST_TEXT
from leverframe.core.engine.timers import Key, Moment
from leverframe.core.engine.watchdog import Watchdog
from leverframe.core.engine.wishes import Deviation, Wish, sort_by_number
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings

# The period of HTTP1: the interval in seconds at which its address is requested.
#
# The first interval begins when the period or the first address is set. The result of the previous
# request does not matter; the outbox sends the requests in order.

KEY: Key = ("http period",)
REASON = "period"


class HttpPeriod:
    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def start(self) -> None:
        self._plan()

    def adopt(self, old: Settings) -> None:
        if _period_s(old) != _period_s(self._machine.settings):
            self._machine.timers.cancel(KEY)
            self._plan()

    def on_timer(self, key: Key) -> None:
        self._machine.notify("http", 1, True, REASON)
        self._plan()

    def _plan(self) -> None:
        period_s = _period_s(self._machine.settings)
        if period_s:
            self._machine.timers.set(KEY, self._machine.at.now + period_s)


def _period_s(settings: Settings) -> int:
    """Return the period in seconds, or 0 if there is no address or no period."""
    return settings.http_period if settings.http[0].url else 0


MAX_STEPS = 24
#: The greatest lateness of a deadline in seconds; deadlines further in the past are served at this
#: limit.
MAX_LATE_S = 0.5
#: How many seconds the labels of a rule loop rest.
REST_S = 1.0

Persisted = Mapping[str, bool | int | float | None]
NOTHING_PERSISTED: Persisted = MappingProxyType({})
NOTHING_SENSED: Mapping[str, Any] = MappingProxyType({})

_BY_RULE_LOOP = Cause("rule loop")
_AS_IF_UTC = datetime(1970, 1, 1, tzinfo=UTC)


class Engine:
    """The engine of one controller; other code may read its features, but not change them."""

    __slots__ = (
        "actuator",
        "_derived_from",
        "_features",
        "_listened_to",
        "differentials",
        "display",
        "energy",
        "event_variables",
        "inputs",
        "machine",
        "outputs",
        "pid",
        "pwm",
        "rules",
        "schedule",
        "watchdog",
    )

    def __init__(
        self,
        profile: Profile,
        settings: Settings,
        timezone: tzinfo = UTC,
        persisted: Persisted = NOTHING_PERSISTED,
    ) -> None:
        machine = self.machine = Machine(profile, settings, timezone, persisted)
        self.energy = Energy(machine)
        self.inputs = Inputs(machine, self.energy.pulse)
        self.differentials = Differentials(machine)
        self.outputs = Outputs(machine)
        self.pwm = PwmOutputs(machine)
        self.pid = PidRegulator(machine, self.pwm)
        self.display = Display(machine)
        self.event_variables = EventVariables(machine)
        self.actuator = Actuator(
            machine,
            self.outputs,
            self.pwm,
            self.event_variables,
            self.pid,
            self.energy,
            self.display,
        )
        self.rules = Rules(machine, self.actuator)
        self.schedule = Schedule(machine, self.actuator)
        self.outputs.find_wish = self.find_wish
        self.watchdog = Watchdog(machine, self.actuator)
        #: Features by the first item of their timer keys, in the order in which they start and
        #: adopt settings.
        self._features: dict[str | int, Feature] = {
            "inputs": self.inputs,
            "energy": self.energy,
            "differentials": self.differentials,
            "outputs": self.outputs,
            "pwm": self.pwm,
            "pid": self.pid,
            "display": self.display,
            "event variables": self.event_variables,
            "rules": self.rules,
            "schedule": self.schedule,
            "watchdog": self.watchdog,
            "http period": HttpPeriod(machine),
        }
        #: Labels from which readings are derived.
        self._derived_from: frozenset[str] = frozenset()
        #: The labels in `_derived_from`, and the labels that rules watch.
        self._listened_to = self._derived_from

    @property
    def settings(self) -> Settings:
        return self.machine.settings

    @property
    def values(self) -> Mapping[str, Value]:
        """Every reading and state by label, and the current PWM duties (`PWM0.duty`)."""
        return self.machine.values

    @property
    def listened_to(self) -> frozenset[str]:
        """Return the labels from which readings are derived or that rules watch."""
        return self._listened_to

    def find_wish(self, label: str) -> Wish | None:
        """Return the state that a rule or the schedule wants of a target; None if neither does."""
        return self.rules.wish_for(label) or self.schedule.wish_for(label)

    def find_deviations(self) -> list[Deviation]:
        """List the targets that are in another state than a rule or the schedule wants."""
        machine = self.machine
        labels = {*self.rules.find_contradictions(), *self.schedule.find_contradictions()}
        found = []
        for label in labels.difference(machine.resting):
            wish = self.find_wish(label)
            if wish is not None and wish.state != machine.values[label]:
                since, cause, _ = machine.switched.get(label, (machine.started.wall, BY_START, 0))
                found.append(Deviation(label, wish, since, cause))
        return sort_by_number(found)

    def uptime(self, at: Moment) -> float:
        """Return the seconds since the start."""
        return at.now - self.machine.started.now

    def next_deadline(self) -> float | None:
        """Return the monotonic time at which `tick` is due; None if no deadline is set."""
        return self.machine.timers.next_due

    def start(self, at: Moment, readings: Mapping[str, Any] = NOTHING_SENSED) -> list[Effect]:
        """Start all features; this is the first call. The readings passed to it cause no edges."""
        machine = self.machine
        machine.at = machine.started = at
        self.inputs.sense(readings)
        for feature in self._features.values():
            feature.start()
        self.schedule.look_back(self.rules.wish_for)
        self._note_listeners()
        return _drop_repeated_drives(self._settle_and_finish())

    def resume(self, at: Moment, readings: Mapping[str, Any]) -> list[Effect]:
        """Resume an engine that ran in another process; the first call, instead of `start`."""
        self.watchdog.ask_again(at.now)
        self._live_until(at)
        self.inputs.sense(readings)
        return self._settle_and_finish()

    def apply(
        self, settings: Settings, actions: Iterable[Action], at: Moment, cause: Cause
    ) -> list[Effect]:
        """Run a request: adopt its settings if they changed, then perform its actions in order."""
        self._live_until(at)
        if settings is not self.machine.settings:
            self._adopt(settings)
        for action in actions:
            if type(action) is Switch:
                # This action is more frequent than all others together.
                self.actuator.switch(action.label, action.value, cause)
            else:
                self._act(action, cause)
        self._settle()
        return self._finish()

    def sense(self, readings: Mapping[str, Any], at: Moment) -> list[Effect]:
        """Process readings of the board."""
        self._live_until(at)
        self.inputs.sense(readings)
        self._settle()
        return self._finish()

    def tick(self, at: Moment) -> list[Effect]:
        """Serve all deadlines that are due."""
        self._live_until(at)
        return self._finish()

    def skip_quiet(self, until: float) -> float | None:
        """Skip the next deadlines up to a moment, as long as serving them would change nothing.

        Return the time of the last skipped deadline, to which the caller advances its clock; None
        if no deadline was skipped.
        """
        return self.pid.skip_samples(until)

    def ping_answered(self, entry: int, milliseconds: float | None, at: Moment) -> list[Effect]:
        """Process the result of a `PingHost` effect; None means no answer in time."""
        self._live_until(at)
        self.watchdog.ping_answered(entry, milliseconds)
        return self._settle_and_finish()

    def clock_changed(self, at: Moment) -> list[Effect]:
        """Plan the schedule again after the wall clock was set; `at` has the new time."""
        before = self.machine.at
        self._live_until(Moment(at.now, before.wall + (at.now - before.now)))
        self.machine.at = at
        self.schedule.clock_changed()
        self.event_variables.clock_changed()
        self.schedule.look_back(self.rules.wish_for)
        return self._settle_and_finish()

    def note_connection(self, mqtt: bool, at: Moment) -> list[Effect]:
        """Record that the connection to the MQTT broker was established or lost."""
        self._live_until(at)
        self.machine.put("MQTT", int(mqtt))
        return self._settle_and_finish()

    def stop(self, at: Moment) -> list[Effect]:
        """Store values that are otherwise stored periodically; the last call of a clean stop."""
        self._live_until(at)
        self.energy.save()
        return self._settle_and_finish()

    def lose_power(self, at: Moment) -> list[Effect]:
        """Turn the pins off, as in a power failure; afterwards this engine is no longer used."""
        self._live_until(at)
        self._drive_safe()
        return self._finish()

    def _drive_safe(self) -> None:
        self.outputs.drive_safe()
        self.pwm.drive_safe()

    def _live_until(self, at: Moment) -> None:
        """Serve the deadlines before this moment."""
        machine = self.machine
        while (when := machine.timers.next_due) is not None and when < at.now:
            now = max(when, at.now - MAX_LATE_S, machine.at.now)
            machine.at = Moment(now, at.wall - (at.now - now))
            self._fire()
        machine.at = at

    def _settle_and_finish(self) -> list[Effect]:
        """Derive readings and run rules after a change, then finish."""
        self._settle()
        return self._finish()

    def _finish(self) -> list[Effect]:
        """Serve the deadlines of this moment, and return all effects."""
        machine = self.machine
        timers, now = machine.timers, machine.at.now
        while (when := timers.next_due) is not None and when <= now:
            self._fire()
        effects = machine.effects
        machine.effects = []
        return effects

    def _fire(self) -> None:
        machine = self.machine
        key = machine.timers.pop()
        self._features[key[0]].on_timer(key)
        if machine.changed:
            self._settle()

    def _settle(self) -> None:
        machine = self.machine
        for _ in range(MAX_STEPS):
            changed = machine.changed
            if not changed:
                return
            machine.changed = set()
            if machine.resting:
                self._leave_to_rest(changed)
            if self._listened_to.isdisjoint(changed):
                # No rule or reading depends on most outputs; returning here saves 6 us.
                return
            if not self._derived_from.isdisjoint(changed):
                self._derive(changed)
            self.rules.evaluate(changed)
        unsettled = machine.changed & self._listened_to
        machine.changed = set()
        if unsettled:
            machine.resting |= dict.fromkeys(unsettled, machine.at.now + REST_S)
            labels = ", ".join(sorted(unsettled))
            figures = {"steps": MAX_STEPS, "labels": labels}
            machine.log(_BY_RULE_LOOP, Fact("rules_stopped", figures=figures))
            machine.mark("rules")

    def _derive(self, changed: set[str]) -> None:
        """Compute the readings that depend on others, and add those that changed."""
        self.inputs.derive(changed)
        self.energy.derive(changed)
        self._add_changed(changed)
        self.differentials.derive(changed)
        self._add_changed(changed)

    def _leave_to_rest(self, changed: set[str]) -> None:
        """Remove resting labels from `changed`, and add those whose rest is over."""
        machine = self.machine
        machine.mark("rules")
        resting, now = machine.resting, machine.at.now
        changed.update(label for label, until in resting.items() if until <= now)
        machine.resting = {label: until for label, until in resting.items() if until > now}
        if held := changed & machine.resting.keys():
            changed -= held
            machine.timers.set(RESTED, max(machine.resting.values()))

    def _add_changed(self, changed: set[str]) -> None:
        """Add the labels that a derivation changed to those for the next one."""
        machine = self.machine
        if machine.changed:
            changed |= machine.changed
            machine.changed.clear()

    def _adopt(self, settings: Settings) -> None:
        machine = self.machine
        old = machine.settings
        machine.settings = settings
        machine.mark("settings")
        if settings.timezone != old.timezone:
            machine.use_timezone()
            self.schedule.clock_changed()
        for feature in self._features.values():
            feature.adopt(old)
        if (
            settings.rules is not old.rules
            or settings.power is not old.power
            or settings.differentials is not old.differentials
        ):
            self._note_listeners()

    def _note_listeners(self) -> None:
        """Record the labels from which readings are derived, and those that rules watch."""
        deriving = (self.inputs, self.energy, self.differentials)
        self._derived_from = frozenset().union(*(part.listens_to() for part in deriving))
        self._listened_to = self._derived_from.union(self.rules.listens_to())

    def _act(self, action: Action, cause: Cause) -> None:
        machine = self.machine
        match action:
            case Pulse(index, seconds):
                self.outputs.pulse(index, seconds, cause)
            case FollowSetting(name):
                if not self.rules.keeps(name):
                    self.actuator.follow_setting(name, cause)
            case FollowDuty(index):
                self.pwm.follow_setting(index)
            case ResumeWatchdog():
                self.watchdog.resume()
            case SetEnergy(index, value):
                self.energy.set_energy(index, value, cause)
            case NextOneWireId():
                self.inputs.next_onewire_id()
            case RaiseRestartFlag():
                machine.restart_flag = True
                machine.mark("restart")
                machine.log(cause, Fact("restart_flag"))
            case ForgetCounters():
                self.energy.forget()
                self.outputs.forget()
            case SendTest(channel):
                machine.notify(channel, 1, True, "test", fallback=TEST_TEXT)
            case ModemCommand(command):
                machine.emit(SendModem(command))
            case WriteToModule(slot, register, type_name, endian, value):
                effect = WriteModbus(slot, register, type_name, endian, value, str(cause), True)
                self.actuator.write_to_module(effect, cause)
            case ChangeClock(local_seconds):
                machine.emit(SetClock(wall_of_local(local_seconds, machine.timezone)))
            case Restart():
                self.actuator.perform("RESTART", ON, True, cause)
            case StartBootloader():
                self._start_bootloader(cause)

    def _start_bootloader(self, cause: Cause) -> None:
        """Turn the pins off and enter the bootloader; the controller then starts a new engine."""
        self.machine.log(cause, Fact("bootloader"))
        self._drive_safe()
        self.machine.emit(EnterBootloader())


def _drop_repeated_drives(effects: list[Effect]) -> list[Effect]:
    """Drop all but the last effect for each output, because a relay must not click twice."""
    last = {effect.index: effect for effect in effects if isinstance(effect, DriveOutput)}
    kept = [effect for effect in effects if not isinstance(effect, DriveOutput)]
    return [*last.values(), *kept]


def wall_of_local(local_seconds: int, timezone: tzinfo) -> float:
    """Convert local time, given in seconds as if it were UTC, to seconds since 1970 UTC."""
    return (_AS_IF_UTC + timedelta(seconds=local_seconds)).replace(tzinfo=timezone).timestamp()
