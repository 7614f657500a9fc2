"""The simulated board, and the hosts of its network, which answer pings.

In virtual time, these hosts replace `pinger.py`. A host without a configured response time does not
answer, which the watchdog detects after its timeout.
"""

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from leverframe.core.engine.calls import PingHost, WriteModbus
from leverframe.core.engine.machine import LiveState, export_state, import_state
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIGITAL_INPUTS,
    LIGHTING,
    MAPPED,
    ONEWIRE,
    OUTPUTS,
    PARTICULATES,
    PWMS,
)
from leverframe.core.settings import Settings
from leverframe.devices.readings import Readings, Sense, drop_readings
from leverframe.devices.simulated.plant_kinds import Plant, Plants
from leverframe.devices.simulated.plant_wiring import plant_from_slots, slots_of


class _Answer(NamedTuple):
    at: float
    entry: int
    milliseconds: float


#: Response times in milliseconds by host, and the pending answers.
HostsState = tuple[dict[str, float], dict[int, _Answer]]


class SimulatedHosts:
    __slots__ = ("_milliseconds", "_now", "_under_way", "answered", "next_due")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._milliseconds: dict[str, float] = {}
        #: Pending answers by watchdog entry; each entry has one ping at a time.
        self._under_way: dict[int, _Answer] = {}
        #: The monotonic time of the next `tick`; None if no answer is pending.
        self.next_due: float | None = None
        #: A function that receives the entry and the milliseconds of each answer.
        self.answered: Callable[[int, float | None], None] = _drop_answer

    @property
    def answering(self) -> dict[str, float]:
        """Return the hosts that answer, with their response times in milliseconds."""
        return dict(self._milliseconds)

    def set_answer(self, host: str, milliseconds: float | None) -> None:
        """Set the response time of a host; with None it does not answer."""
        if milliseconds is None:
            self._milliseconds.pop(host, None)
        else:
            self._milliseconds[host] = milliseconds

    def ping(self, effect: PingHost) -> None:
        self._under_way.pop(effect.entry, None)
        milliseconds = self._milliseconds.get(effect.host)
        if milliseconds is not None and milliseconds <= effect.timeout_s * 1000:
            at = self._now() + milliseconds / 1000
            self._under_way[effect.entry] = _Answer(at, effect.entry, milliseconds)
        self._plan()

    def live_state(self) -> HostsState:
        return dict(self._milliseconds), dict(self._under_way)

    def resume_from(self, state: HostsState) -> None:
        self._milliseconds, self._under_way = dict(state[0]), dict(state[1])
        self._plan()

    def tick(self, now: float) -> None:
        for answer in sorted(self._under_way.values()):
            if answer.at <= now:
                del self._under_way[answer.entry]
                self._plan()
                self.answered(answer.entry, answer.milliseconds)

    def _plan(self) -> None:
        self.next_due = min((answer.at for answer in self._under_way.values()), default=None)


def _drop_answer(entry: int, milliseconds: float | None) -> None:
    """Drop answers, because no controller sends pings yet."""


# The simulated board, a test bench for the complete controller.
#
# `set_readings`, the page or `/sim.cgi` set its inputs; its outputs are recorded with the time in a
# limited history. A new board has a 12 V supply and room temperature, no sensors, and open digital
# inputs.
#
# Plants can be wired between its outputs and its inputs (see `plant_kinds.py`). If a user sets a
# reading of a plant, it keeps that value until the plant changes. An unplugged reading stays absent
# until it is plugged in again.

#: All inputs of this board that can be set.
SETTABLE = frozenset(
    {
        *("VCC", "TEMP", "T1", "H1", "P1", "CO2", "DISTANCE"),
        *ANALOG_INPUTS,
        *DIGITAL_INPUTS,
        *ONEWIRE,
        *PARTICULATES,
        *MAPPED,
        *LIGHTING,
    }
)
BARE = {"VCC": 12.0, "TEMP": 25.0, **dict.fromkeys(ANALOG_INPUTS, 0.0)}
#: The temperature that a newly attached 1-Wire sensor measures.
ROOM_TEMPERATURE = 20.0
#: The reading that lists the sensors of the 1-Wire bus.
BUS = "onewire"
KEPT_HISTORY = 200
KEPT_MESSAGES = 20
#: The attributes that are the state of a board.
_LIVE = (
    *("_readings", "_bus", "outputs", "levels", "pin_settings", "modules", "history"),
    *("messages", "_plants", "_wirings", "_unplugged", "_driven"),
)


class Driven(Struct, frozen=True, gc=False):
    now: float
    what: str
    value: float | int


class PlantState(Struct, frozen=True, forbid_unknown_fields=True):
    """A plant: its wiring, and its current state."""

    wiring: str
    slots: dict[str, float | int | bool | None]


class BoardState(Struct, frozen=True, forbid_unknown_fields=True):
    """Connected sensors, readings and driven states as plain data, without the history."""

    readings: dict[str, float | int | str | tuple[float | int | str | None, ...] | None]
    bus: list[str]
    outputs: list[bool]
    told: list[bool]
    levels: list[float]
    pin_settings: dict[str, int]
    modules: dict[str, float | int]
    unplugged: list[str]
    plants: list[PlantState]
    hosts: dict[str, float | int]


class ReceivedSms(Struct, frozen=True):
    sender: str
    text: str
    #: The answer to an SMS; None if there was none.
    answer: str | None


class BoardFaults(Protocol):
    """The effect of faults on readings and relays."""

    def distort_readings(self, readings: Readings) -> Readings:
        """Return the readings that the controller gets instead of the measured ones."""

    def relay_state(self, label: str, on: bool) -> bool:
        """Return the state to which a relay actually switches."""


class SimulatedBoard:
    """A board without devices: users set its inputs, and its outputs are recorded."""

    kind = "simulated"

    __slots__ = (
        "__weakref__",
        "_bus",
        "_driven",
        "_gathered",
        "_now",
        "_plants",
        "_readings",
        "_sense",
        "_unplugged",
        "_wirings",
        "faults",
        "history",
        "hosts",
        "levels",
        "messages",
        "modules",
        "outputs",
        "pin_settings",
    )

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._readings: dict[str, Any] = dict(BARE)
        self._bus: list[str] = []
        self._sense: Sense = drop_readings
        self.outputs = [False] * len(OUTPUTS)
        #: The commanded states of the relays; a relay is in another state only because of a fault.
        self._driven = [False] * len(OUTPUTS)
        #: The faults of relays and readings; they have an effect while they are set.
        self.faults: BoardFaults | None = None
        self.levels = [0.0] * len(PWMS)
        #: Other pin settings, by their names in the history.
        self.pin_settings: dict[str, int] = {}
        #: The values written to modules, by place.
        self.modules: dict[str, float] = {}
        #: The newest changes of outputs; a list, because even an empty deque needs 0.7 KB.
        self.history: list[Driven] = []
        self.hosts = SimulatedHosts(now)
        #: Received SMS, oldest first.
        self.messages: list[ReceivedSms] = []
        self._plants = Plants()
        #: The text by which each plant was wired.
        self._wirings: dict[Plant, str] = {}
        self._unplugged: set[str] = set()
        #: The readings that `one_instant` reports at its end; None outside of it.
        self._gathered: dict[str, Any] | None = None

    @property
    def bench(self) -> "SimulatedBoard":
        return self

    async def open(self, settings: Settings, troubles: MutableMapping[str, str]) -> None:
        """Do nothing, because there are no devices."""

    async def close(self) -> None:
        """Do nothing, because nothing was opened."""

    def adopt(self, settings: Settings) -> None:
        """Do nothing, because the user determines which sensors are plugged in."""

    def connect(self, sense: Sense) -> Readings:
        self._sense = sense
        readings = {**self._readings, **self._bus_reading()}
        return readings if self.faults is None else self.faults.distort_readings(readings)

    def drive_output(self, index: int, on: bool) -> None:
        self._driven[index] = on
        if self.faults is not None:
            on = self.faults.relay_state(OUTPUTS[index], on)
        self.move_relay(index, on)

    def keep_message(self, message: ReceivedSms) -> None:
        self.messages = [*self.messages, message][-KEPT_MESSAGES:]

    def drive_again(self, index: int) -> None:
        """Drive a relay to its commanded state again, as far as its faults permit."""
        self.drive_output(index, self._driven[index])

    def move_relay(self, index: int, on: bool) -> None:
        """Switch a relay without a command."""
        now, label = self._now(), OUTPUTS[index]
        self.outputs[index] = on
        # The same as `_note`, inlined to save a call in each switching.
        self.history.append(Driven(now, label, int(on)))
        del self.history[:-KEPT_HISTORY]
        if self._plants.wired:
            self._plants.put(label, float(on), now)

    def drive_pwm(self, index: int, level: float) -> None:
        now = self._now()
        self.levels[index] = level
        self._note(Driven(now, PWMS[index], level))
        if self._plants.wired:
            self._plants.put(PWMS[index], level, now)

    def set_pwm_frequency(self, group: int, hz: int) -> None:
        self._set_pin("PWM0 Hz" if group == 0 else "PWM1-3 Hz", hz)

    def set_pull_up(self, index: int, on: bool) -> None:
        self._set_pin(f"{DIGITAL_INPUTS[index]} pull-up", int(on))

    def write_module(self, effect: WriteModbus) -> None:
        """Write a value to the module in a Modbus slot, which accepts every value."""
        self.modules[effect.target] = effect.value
        self._note(Driven(self._now(), effect.target, effect.value))

    def _set_pin(self, setting: str, value: int) -> None:
        self.pin_settings[setting] = value
        self._note(Driven(self._now(), setting, value))

    def _note(self, driven: Driven) -> None:
        self.history.append(driven)
        del self.history[:-KEPT_HISTORY]

    def live_state(self) -> LiveState[Any]:
        """Return the state of the board, with its plants and its network."""
        own = {name: getattr(self, name) for name in _LIVE}
        return export_state((own, self.hosts.live_state()))

    def resume_from(self, state: LiveState[Any]) -> None:
        """Restore a state without reporting it to the controller, which already has it."""
        own, hosts = import_state(state)
        for name, value in own.items():
            setattr(self, name, value)
        self.hosts.resume_from(hosts)

    def portable(self) -> BoardState:
        """Return the state as plain data for another process; encode it immediately."""
        return BoardState(
            self._readings,
            self._bus,
            self.outputs,
            self._driven,
            self.levels,
            self.pin_settings,
            self.modules,
            sorted(self._unplugged),
            [PlantState(self._wirings[one], slots_of(one)) for one in self._plants.wired],
            self.hosts.answering,
        )

    def fill(self, state: BoardState) -> None:
        """Restore a state without reporting it to the controller; raise ValueError if unfit."""
        if [len(self.outputs)] * 2 + [len(self.levels)] != [
            len(one) for one in (state.outputs, state.told, state.levels)
        ]:
            raise ValueError("the board has other outputs")
        plants = [(plant_from_slots(one.wiring, one.slots), one.wiring) for one in state.plants]
        self._readings, self._bus = dict(state.readings), list(state.bus)
        self.outputs, self._driven = list(state.outputs), list(state.told)
        self.levels, self.pin_settings = list(state.levels), dict(state.pin_settings)
        self.modules, self._unplugged = dict(state.modules), set(state.unplugged)
        self._plants.replace(plant for plant, _ in plants)
        self._wirings = dict(plants)
        for host, milliseconds in state.hosts.items():
            self.hosts.set_answer(host, milliseconds)

    def set_readings(self, readings: Readings) -> None:
        """Set readings; None unplugs a sensor."""
        for label, value in readings.items():
            if value is None:
                self._unplugged.add(label)
            else:
                self._unplugged.discard(label)
        self._show(readings)

    @contextmanager
    def one_instant(self) -> Iterator[None]:
        """Report all readings set within the context together, as of one moment.

        If a reading is set twice, the controller gets both values, so that no pulse of an input is
        lost.
        """
        self._gathered = {}
        try:
            yield
        finally:
            gathered, self._gathered = self._gathered, None
            if gathered:
                self._report_readings(gathered)

    def plug(self, label: str) -> None:
        """Restore the reading that a plant supplies; do nothing if there is no such plant."""
        fed = self._plants.look(label, self._now())
        if label in fed:
            self._unplugged.discard(label)
            self._show({label: fed[label]})

    @property
    def readings(self) -> Readings:
        """Return the current readings by label or 1-Wire ID."""
        return self._readings

    @property
    def onewire_ids(self) -> tuple[str, ...]:
        return tuple(self._bus)

    @property
    def plants(self) -> Plants:
        return self._plants

    @property
    def wirings(self) -> list[str]:
        """Return the wiring of each plant."""
        return [self._wirings[plant] for plant in self._plants.wired]

    def wire(self, plant: Plant, wiring: str = "") -> None:
        """Connect a plant to outputs and readings of this board."""
        pins = {
            **dict(zip(OUTPUTS, map(float, self.outputs), strict=True)),
            **dict(zip(PWMS, self.levels, strict=True)),
        }
        readings = {label: value for label, value in self._readings.items() if value is not None}
        self._unplugged.difference_update(plant.feeds)
        self._show(self._plants.wire(plant, self._now(), readings | pins))
        self._wirings[plant] = wiring
        self._wirings = {wired: self._wirings[wired] for wired in self._plants.wired}

    def unwire_all(self) -> None:
        """Remove the plants; their readings do not change."""
        self._plants.clear()
        self._wirings.clear()

    def next_deadline(self) -> float | None:
        plants, hosts = self._plants.next_due, self.hosts.next_due
        if plants is None or hosts is None:
            return hosts if plants is None else plants
        return min(plants, hosts)

    def tick(self, now: float) -> None:
        fed = self._plants.tick(now)
        new = {
            label: value
            for label, value in fed.items()
            if value != self._readings.get(label) and label not in self._unplugged
        }
        if new:
            self._show(new)
        self.hosts.tick(now)

    def attach_onewire(self, sensor_id: str, celsius: float | None = None) -> None:
        """Plug a sensor into the 1-Wire bus, or change the temperature of a sensor on the bus."""
        if sensor_id not in self._bus:
            self._bus.append(sensor_id)
        if celsius is None:
            celsius = self._readings.get(sensor_id)
        if celsius is None:
            celsius = ROOM_TEMPERATURE
        self.set_readings({sensor_id: celsius, **self._bus_reading()})

    def detach_onewire(self, sensor_id: str) -> None:
        """Unplug one sensor of the 1-Wire bus."""
        if sensor_id in self._bus:
            self._bus.remove(sensor_id)
            self.set_readings({sensor_id: None, **self._bus_reading()})

    def clear_onewire(self) -> None:
        """Unplug every sensor of the 1-Wire bus."""
        gone = dict.fromkeys(self._bus)
        self._bus.clear()
        self.set_readings({**gone, **self._bus_reading()})

    def _show(self, readings: Readings) -> None:
        self._readings.update(readings)
        if self._plants.wired:
            now = self._now()
            for label, value in readings.items():
                if isinstance(value, float | int):
                    self._plants.put(label, value, now)
        if self._gathered is None:
            self._report_readings(readings)
        else:
            self._gather(self._gathered, readings)

    def _report_readings(self, readings: Readings) -> None:
        self._sense(readings if self.faults is None else self.faults.distort_readings(readings))

    def deliver(self, readings: Readings) -> None:
        """Report readings to the controller, regardless of what is measured."""
        self._sense(readings)

    def deliver_again(self, key: str) -> None:
        """Report a reading to the controller again, so that the current faults affect it."""
        self._report_readings({key: self._readings.get(key)})

    def _gather(self, gathered: dict[str, Any], readings: Readings) -> None:
        if any(label in gathered for label in readings if label != BUS):
            self._report_readings(dict(gathered))
            gathered.clear()
        gathered.update(readings)

    def _bus_reading(self) -> dict[str, tuple[str, ...]]:
        return {BUS: tuple(self._bus)}
