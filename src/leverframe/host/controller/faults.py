"""The active faults of a simulated controller: when and where they act, and what they did.

The parts that a fault affects query this module: the HTTP and Modbus servers, the simulated board,
the outbox. These parts are notified when faults exist, so a controller without faults makes no
queries. Random numbers come from a seed, so that the same faults act in the same way again. A
snapshot restores the faults and their random numbers. The journal records the effects of faults.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import LiveState, export_state, import_state
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import ONEWIRE, OUTPUTS
from leverframe.core.settings import Settings
from leverframe.devices.simulated import fault_catalogue as catalogue
from leverframe.devices.simulated.fault_catalogue import SERVERS, Fault
from leverframe.devices.simulated.simulated_board import SimulatedBoard

#: The readings of a DS18B20 before its first conversion, and of drivers if the sensor is missing.
POWER_ON_CELSIUS, NO_ANSWER_CELSIUS = 85.0, -127.0
MAX_FAULTS = 100
#: Faults that can be combined with other faults of an answer: late, changed and replaced answers.
LATE, UNTRUE, OWN = "slow", "raw", "reply"
BESIDE = (LATE, UNTRUE, OWN)


class FaultyPort(Protocol):
    """A server whose answers can be faulty."""

    def follow_faults(self, is_faulty: bool, is_closed: bool) -> None:
        """Begin or stop to check each request for faults; close or open the port."""


class Unit(Protocol):
    """The effects of a fault on the controller itself."""

    def power_off(self, until: float) -> None: ...

    def power_on(self, *, lose_settings: bool) -> None: ...

    def shift_clock(self, seconds: float) -> None: ...

    def read(self) -> Moment: ...

    def settings(self) -> Settings: ...

    def log(self, cause: Cause, fact: Fact) -> None: ...

    def plan_to_wake(self) -> None: ...

    def set_down(self, channel: str, sentence: str | None) -> None: ...


class ActiveFault:
    """A fault that was set, and its progress."""

    def __init__(self, number: int, fault: Fault, now: float) -> None:
        fields = fault.fields
        self.number = number
        self.fault = fault
        self.is_on = False
        self.begins: float = now + fields["after"]
        lasts_s = fields.get("for")
        self.ends: float | None = None if lasts_s is None else self.begins + lasts_s
        times = fields.get("times")
        self.left: int | None = None if times is None else int(times)
        #: How often it acted.
        self.acted = 0
        seed = fields.get("seed")
        self.random = Random(number if seed is None else int(seed))
        #: When it next acts on its own.
        self.next: float | None = None
        #: Its memory: the stuck value, stale answers.
        self.memory: dict[str, Any] = {}
        #: Edges to come: moment, label, level.
        self.edges: list[tuple[float, str, int]] = []

    def __getitem__(self, field: str) -> Any:
        return self.fault.fields[field]

    @property
    def cause(self) -> Cause:
        return Cause("fault", f"{self.number} {self.fault.kind}")

    def next_deadline(self) -> float | None:
        if not self.is_on:
            return self.begins
        known = [self.ends, self.next, self.edges[0][0] if self.edges else None]
        return min((one for one in known if one is not None), default=None)


class FaultReport(Struct, frozen=True):
    number: int
    text: str
    is_on: bool
    acted: int


class Faults:
    """All faults of one controller. Without faults, nothing here is called."""

    live_name: ClassVar[str] = "faults"
    #: The number of the newest fault; saved snapshots contain no faults.
    live_type: ClassVar[Any] = int

    __slots__ = ("_board", "_faults", "_number", "_ports", "_unit")

    def __init__(self, unit: Unit, board: SimulatedBoard) -> None:
        self._unit = unit
        self._board = board
        self._faults: dict[int, ActiveFault] = {}
        self._number = 0
        self._ports: list[FaultyPort] = []

    def join(self, port: FaultyPort) -> None:
        """Add a server that the faults affect from now on."""
        self._ports.append(port)
        self._notify_ports()

    # --- add and remove ---------------------------------------------------------------------------

    def add(self, fault: Fault) -> ActiveFault:
        if len(self._faults) >= MAX_FAULTS:
            raise catalogue.BadFault("There are too many faults.", f"up to {MAX_FAULTS} at a time")
        self._number += 1
        active = ActiveFault(self._number, fault, self._unit.read().now)
        self._faults[active.number] = active
        if active.begins <= self._unit.read().now:
            self._begin(active)
        self._unit.plan_to_wake()
        return active

    def remove(self, active: ActiveFault) -> None:
        """End a fault; a fault that has already ended is not an error."""
        known = self._faults.get(active.number)
        if known is not None:
            self._end(known)
            self._unit.plan_to_wake()

    def remove_number(self, number: int) -> bool:
        known = self._faults.get(number)
        if known is not None:
            self.remove(known)
        return known is not None

    def clear(self) -> None:
        for active in tuple(self._faults.values()):
            self.remove(active)

    @property
    def next_number(self) -> int:
        return self._number + 1

    def report(self) -> list[FaultReport]:
        return [
            FaultReport(one.number, one.fault.text, one.is_on, one.acted)
            for one in self._faults.values()
        ]

    def _begin(self, active: ActiveFault) -> None:
        active.is_on = True
        self._unit.log(active.cause, Fact("fault_begins", figures={"text": active.fault.shown}))
        begin = _BEGIN.get(active.fault.kind)
        if begin is not None:
            begin(self, active)
        self._after_change(active)

    def _end(self, active: ActiveFault) -> None:
        del self._faults[active.number]
        if active.is_on:
            active.is_on = False
            end = _END.get(active.fault.kind)
            if end is not None:
                end(self, active)
            for _, label, level in active.edges[-1:]:
                self._edge(active, label, level)
            figures = {"times": _times(active.acted), "count": active.acted}
            self._unit.log(active.cause, Fact("fault_ends", figures=figures))
        self._after_change(active)

    def _after_change(self, active: ActiveFault) -> None:
        where = active.fault.where
        if where in (catalogue.PINS, catalogue.READINGS, catalogue.LEVELS):
            self._join_board()
            self._show_again(active)
        elif where == catalogue.CHANNELS:
            self._follow_channels()
        else:
            self._notify_ports()

    def _join_board(self) -> None:
        wheres = (catalogue.PINS, catalogue.READINGS, catalogue.LEVELS)
        self._board.faults = self if any(self._on(*wheres)) else None

    def _follow_channels(self) -> None:
        down = {one["server"] for one in self._on(catalogue.CHANNELS)}
        for server, channels in SERVERS.items():
            sentence = (
                f"The {server} is down because of a simulated fault." if server in down else None
            )
            for channel in channels:
                self._unit.set_down(channel, sentence)

    def _notify_ports(self) -> None:
        is_faulty = any(self._on(catalogue.HTTP, catalogue.MODBUS))
        is_closed = any(self._on(catalogue.PORTS)) or any(
            "off" in one.memory for one in self._on(catalogue.POWER)
        )
        for port in self._ports:
            port.follow_faults(is_faulty, is_closed)

    def _on(self, *wheres: str) -> list[ActiveFault]:
        return [one for one in self._faults.values() if one.is_on and one.fault.where in wheres]

    # --- time -------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        if not self._faults:
            # The usual case, checked after every request.
            return None
        known = [one.next_deadline() for one in self._faults.values()]
        return min((one for one in known if one is not None), default=None)

    def tick(self, at: Moment) -> None:
        if not self._faults:
            return
        for active in tuple(self._faults.values()):
            while active.number in self._faults:
                due = active.next_deadline()
                if due is None or due > at.now:
                    break
                self._serve(active, due)

    def _serve(self, active: ActiveFault, due: float) -> None:
        if not active.is_on:
            self._begin(active)
        elif active.edges and active.edges[0][0] <= due:
            _, label, level = active.edges.pop(0)
            self._edge(active, label, level)
        elif active.ends is not None and active.ends <= due:
            self._end(active)
        else:
            active.next = None
            _NEXT[active.fault.kind](self, active)

    # --- snapshots --------------------------------------------------------------------------------

    def live_state(self) -> LiveState[Any]:
        return export_state((self._number, self._faults))

    def resume_from(self, state: LiveState[Any]) -> None:
        self._number, self._faults = import_state(state)
        self._join_board()
        self._follow_channels()
        self._notify_ports()

    # --- queries of servers -----------------------------------------------------------------------

    def of_request(self, path: str) -> list[ActiveFault]:
        """Return the faults of a request: the newest one, and all that can be combined with it."""
        met = [one for one in self._on(catalogue.HTTP) if _is_about(path, one["path"])]
        newest = next((one for one in reversed(met) if one.fault.kind not in BESIDE), None)
        # Of several replaced answers, only the newest is sent.
        own = next((one for one in reversed(met) if one.fault.kind == OWN), None)
        acting = [one for one in met if one in (newest, own) or one.fault.kind in (LATE, UNTRUE)]
        return [one for one in acting if self._acts(one, path)]

    def of_modbus(self, function: int) -> ActiveFault | None:
        """Return the fault that affects a request to the Modbus TCP server."""
        return self._newest_acting(catalogue.MODBUS, f"function {function}")

    def of_mqtt(self) -> ActiveFault | None:
        """Return the fault that affects data sent to the broker."""
        return self._newest_acting(catalogue.MQTT, "data for the broker")

    def _newest_acting(self, where: str, on: str) -> ActiveFault | None:
        for active in reversed(self._on(where)):
            if self._acts(active, on):
                return active
        return None

    def _acts(self, active: ActiveFault, on: str) -> bool:
        if active["chance"] < 1.0 and active.random.random() >= active["chance"]:
            return False
        active.acted += 1
        self._unit.log(active.cause, Fact("fault_acts", figures={"on": on}))
        if active.left is not None:
            active.left -= 1
            if active.left == 0:
                self._end(active)
        return True

    # --- queries of the board ---------------------------------------------------------------------

    def distort_readings(self, readings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the readings that the controller receives instead of the measured ones."""
        bound = self._unit.settings().onewire
        ids = {one.id: label for label, one in zip(ONEWIRE, bound, strict=False)}
        changed = dict(readings)
        for active in self._on(catalogue.READINGS):
            for key, value in changed.items():
                if ids.get(key, key) == active["label"] and not isinstance(value, tuple):
                    changed[key] = self._distort(active, value)
        for active in self._on(catalogue.LEVELS):
            label = active["label"]
            level = changed.get(label)
            if level is not None and level != active.memory.get("level"):
                active.memory["level"] = level
                self._add_edges(active, label, int(level))
        return changed

    def _distort(self, active: ActiveFault, value: Any) -> Any:
        if value is None and active.fault.kind not in ("sensor_85", "sensor_minus_127"):
            return None
        distorted = _DISTORTED[active.fault.kind](active, value, self._unit.read().now)
        if distorted != value:
            active.acted += 1
            if active.acted == 1:
                shown = "absent" if distorted is None else f"{distorted:g}"
                figures = {"shown": shown, "value": value}
                self._unit.log(active.cause, Fact("fault_reads", active["label"], figures=figures))
        return distorted

    def relay_state(self, label: str, on: bool) -> bool:
        """Return the state that a relay takes when it is switched."""
        result = on
        for active in self._on(catalogue.PINS):
            if active["label"] != label:
                continue
            if active.fault.kind == "relay_bounce":
                self._add_edges(active, label, int(on))
            elif active.fault.kind == "output_reversed":
                result = not on
            else:
                result = active.memory["at"]
            if result != on:
                active.acted += 1
                figures = {"told": _word(on), "does": _word(result)}
                self._unit.log(active.cause, Fact("fault_relay", label, figures=figures))
        return result

    def _add_edges(self, active: ActiveFault, label: str, level: int) -> None:
        """Add extra edges after a change; the last one ends at the new level."""
        now, count = self._unit.read().now, 2 * ((int(active["edges"]) + 1) // 2)
        active.edges += [
            (now + active["apart"] * step, label, level ^ (step % 2))
            for step in range(1, count + 1)
        ]
        active.acted += 1
        figures = {"level": level, "count": count}
        self._unit.log(active.cause, Fact("fault_edges", label, figures=figures))

    def _edge(self, active: ActiveFault, label: str, level: int) -> None:
        if label in OUTPUTS:
            self._board.move_relay(OUTPUTS.index(label), bool(level))
        else:
            self._board.deliver({label: level})

    def _show_again(self, active: ActiveFault) -> None:
        """Apply the beginning or end of a fault immediately."""
        label = active["label"]
        if active.fault.where == catalogue.PINS:
            if active.fault.kind != "relay_bounce":
                self._board.drive_again(OUTPUTS.index(label))
        elif active.fault.where == catalogue.READINGS:
            self._board.deliver_again(self._key(label))

    def _key(self, label: str) -> str:
        """Return the board's name for a reading: its label, or the sensor bound to the label."""
        if label in ONEWIRE:
            bound = self._unit.settings().onewire[ONEWIRE.index(label)].id
            if bound in self._board.onewire_ids:
                return bound
        return label

    # --- kinds that act on their own -------------------------------------------------------------

    def _sample(self, active: ActiveFault) -> None:
        if active.memory:
            self._board.deliver_again(self._key(active["label"]))
        active.memory["since"] = active.memory.get("since", self._unit.read().now)
        active.next = self._unit.read().now + active["every"]

    def _note_level(self, active: ActiveFault) -> None:
        active.memory["level"] = self._board.readings.get(active["label"])

    def _hold_relay(self, active: ActiveFault) -> None:
        index = OUTPUTS.index(active["label"])
        present = self._board.outputs[index]
        active.memory["at"] = {"present": present, "on": True, "off": False}[active["at"]]

    def _power_fails(self, active: ActiveFault) -> None:
        is_reboot = active.fault.kind == "reboot"
        off_s = active["takes"] if is_reboot else active["off"]
        active.memory["off"] = True
        active.acted += 1
        active.next = self._unit.read().now + off_s
        self._unit.log(active.cause, Fact("fault_power_goes", figures={"seconds": off_s}))
        self._unit.power_off(active.next)
        self._notify_ports()
        if off_s == 0.0:
            self._power_comes(active)

    def _power_comes(self, active: ActiveFault) -> None:
        del active.memory["off"]
        active.next = None
        loses = active.fault.kind == "reboot" and active["loses"] == "settings"
        self._unit.log(active.cause, Fact("fault_power_comes"))
        self._unit.power_on(lose_settings=loses)
        if active.fault.kind == "reboot" or active.acted >= active["cycles"]:
            self._end(active)
        else:
            active.next = self._unit.read().now + active["on"]
            self._notify_ports()

    def _power_changes(self, active: ActiveFault) -> None:
        if "off" in active.memory:
            self._power_comes(active)
        else:
            self._power_fails(active)

    def _power_stays(self, active: ActiveFault) -> None:
        if "off" in active.memory:
            del active.memory["off"]
            self._unit.power_on(lose_settings=False)

    def _shift_clock(self, active: ActiveFault) -> None:
        active.acted += 1
        shifted = active.memory.get("shifted", 0.0)
        by = -shifted if shifted else active["by"]
        active.memory["shifted"] = shifted + by
        self._unit.shift_clock(by)
        self._unit.log(active.cause, Fact("fault_clock", figures={"seconds": by}))
        if active.fault.kind == "clock_jumps":
            active.next = self._unit.read().now + active["every"]

    def _set_clock_right(self, active: ActiveFault) -> None:
        if active.memory["shifted"]:
            self._unit.shift_clock(-active.memory["shifted"])


_Act = Callable[[Faults, ActiveFault], None]
_SAMPLED = ("sensor_noisy", "sensor_drifting", "sensor_spikes")

#: The functions of each kind of fault: at its beginning, at its next moment, and at its end.
_BEGIN: dict[str, _Act] = {
    **dict.fromkeys(_SAMPLED, Faults._sample),
    "input_chatter": Faults._note_level,
    "output_stuck": Faults._hold_relay,
    "reboot": Faults._power_fails,
    "brown_out": Faults._power_fails,
    "clock_wrong": Faults._shift_clock,
    "clock_jumps": Faults._shift_clock,
}
_NEXT: dict[str, _Act] = {
    **dict.fromkeys(_SAMPLED, Faults._sample),
    "reboot": Faults._power_changes,
    "brown_out": Faults._power_changes,
    "clock_jumps": Faults._shift_clock,
}
_END: dict[str, _Act] = {
    "reboot": Faults._power_stays,
    "brown_out": Faults._power_stays,
    "clock_wrong": Faults._set_clock_right,
    "clock_jumps": Faults._set_clock_right,
}


def _stuck(active: ActiveFault, value: Any, now: float) -> Any:
    return active.memory.setdefault("value", value)


def _noisy(active: ActiveFault, value: Any, now: float) -> Any:
    return value + active.random.gauss(0.0, active["sigma"])


def _drifting(active: ActiveFault, value: Any, now: float) -> Any:
    return value + active["per_hour"] * (now - active.begins) / 3600.0


def _spiky(active: ActiveFault, value: Any, now: float) -> Any:
    return value + active["by"] if active.random.random() < active["share"] else value


#: The functions that distort a reading, by kind of fault.
_DISTORTED: dict[str, Callable[[ActiveFault, Any, float], Any]] = {
    "sensor_stuck": _stuck,
    "sensor_noisy": _noisy,
    "sensor_drifting": _drifting,
    "sensor_spikes": _spiky,
    "sensor_absent": lambda active, value, now: None,
    "sensor_85": lambda active, value, now: POWER_ON_CELSIUS,
    "sensor_minus_127": lambda active, value, now: NO_ANSWER_CELSIUS,
}


def _is_about(path: str, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return path.startswith(wanted) if wanted.endswith("/") else path == wanted


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _word(on: bool) -> str:
    return "on" if on else "off"
