"""`/sim.cgi`: set what the simulated board senses, with items joined like commands.

`DS1=21.5` sets a reading, and `DS1=none` unplugs it. A value that cannot be sensed there is
refused. With `DS1=raw:200` the board delivers the value all the same, as a fault would, and the
controller treats it as absent.

`onewire=28:FF:...` attaches a sensor to the 1-Wire bus, and `onewire=none` clears the bus.
`28:FF:...=21.5` or `=none` concerns one sensor of the bus. `i2c` sets the sensor that answers, and
`barcode` the code that was scanned. `sms=+48601:1234:out=0` simulates an SMS; `/api/sim` shows its
reply.

`plant=room*heater:PWM0*reading:DS1*...` wires a plant between outputs and inputs (see
`devices/simulated/plant_wiring.py`). `plant=none` removes all plants, and `DS1=plant` shows the
plant's reading again. `outbox=clear` deletes the captured messages, and `requests=clear` the
recorded requests.

`fault=slow*delay:5s*path:/json/all.json*times:2` sets a fault (see
`devices/simulated/fault_catalogue.py`). `fault=end:3` ends the fault with that number, and
`fault=none` ends all faults. In values of faults, `*` is `%2A`, encoded once more.

In virtual time, `ping=HOST:MILLISECONDS` and `ping=HOST:none` set which hosts answer.
`advance=SECONDS` or `advance=next` advances the time, and `until=CONDITION*within:TIME` advances it
until a condition holds (see `interface/names.py`).

All items are checked first, then carried out in order. Readings that are joined are sensed at one
instant.
"""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from leverframe.core.labels import (
    DIGITAL_INPUTS,
    LIGHTING,
    LIGHTING_LIMITS,
    LIMITS,
    ONEWIRE,
    READINGS,
)
from leverframe.devices.simulated.fault_catalogue import (
    BadFault,
    Fault,
    fault_from_text,
    time_unreachable_s,
)
from leverframe.devices.simulated.plant_wiring import BadPlant, plant_from_text
from leverframe.devices.simulated.simulated_board import SETTABLE, ReceivedSms, SimulatedBoard
from leverframe.host.controller import Controller
from leverframe.host.controller.faults import MAX_FAULTS, Faults
from leverframe.host.controller.hooks import ControllerElsewhere
from leverframe.interface.descriptions.openapi import QueryParameter
from leverframe.interface.table.codes import I2C_SENSORS
from leverframe.interface.table.lookup import may_hold_secret
from leverframe.interface.table.params import NOTHING_SEEN, OneWireId, Text, decode_text
from leverframe.interface.table.refusals import (
    BadValue,
    Conflict,
    Malformed,
    Refusal,
    UnknownCommand,
)
from leverframe.server.routes.sim_time import (
    Advance,
    advance_from_text,
    check_distance,
    wait_from_text,
)
from leverframe.server.sms_commands import SmsCommands

NONE = "none"
CLEAR = "clear"
PLANT = "plant"
#: Prefix of a value that the board delivers although no sensor could.
RAW = "raw:"
MAX_MILLISECONDS = 60_000.0
BARCODE_LETTERS = 64
#: How long a request may make the controller unreachable.
MAX_UNREACHABLE_S = 3600.0
#: The length of a long SMS of four parts.
SMS_LETTERS = 612
_SENDER = r"\+?[0-9]{1,20}"
_SENSOR_ID = r"[0-9A-F]{2}(:[0-9A-F]{2}){7}"

_OTHER_TEXT = Annotated[str, Meta(pattern=f"^({NONE}|{PLANT}|{RAW}.+)$")]
#: Labels that can be set, in the order of the reference.
SENSED = [label for label in (*READINGS, *DIGITAL_INPUTS, *LIGHTING) if label in SETTABLE]
PARAMETERS = (
    QueryParameter(
        "advance",
        Annotated[float, Meta(ge=0)] | Literal["next"],
        "Advance virtual time by seconds, or to the next due moment.",
    ),
    QueryParameter(
        "until",
        str,
        "Advance virtual time until a condition holds: CONDITION*within:TIME; default: a day.",
    ),
    QueryParameter("onewire", str, "Attach a sensor to the 1-Wire bus; none clears the bus."),
    QueryParameter("i2c", str, "Select the sensor on the I2C bus."),
    QueryParameter("sms", str, "Receive an SMS: NUMBER:TEXT."),
    QueryParameter("barcode", Annotated[str, Meta(max_length=BARCODE_LETTERS)], "Scan a code."),
    QueryParameter("outbox", Literal["clear"], "Delete the captured messages."),
    QueryParameter("requests", Literal["clear"], "Delete the recorded requests."),
    QueryParameter("plant", str, "Wire a plant: KIND*FIELD:VALUE...; none removes all."),
    QueryParameter(
        "fault", str, "Set a fault: KIND*FIELD:VALUE...; end:NUMBER ends one fault, none ends all."
    ),
    QueryParameter(
        "ping", str, "Set the ping time of a host: HOST:MILLISECONDS, or HOST:none for no response."
    ),
    *(
        QueryParameter(
            label,
            Literal[0, 1, "none"] if label in DIGITAL_INPUTS else float | _OTHER_TEXT,
            f"Set the reading {label}; none unplugs it.",
        )
        for label in SENSED
    ),
)


class Arrival(Struct, frozen=True):
    """An SMS that arrives; its commands are run before the next step."""

    receive: Callable[[], Awaitable[None]]


class FaultChange(Struct, frozen=True):
    """A change other than a reading, made between the readings before and after it."""

    do: Callable[[], object]


#: An immediate change of the board, or another kind of step.
Step = Callable[[], None] | Arrival | Advance | FaultChange


class SimCommands:
    def __init__(self, controller: Controller, board: SimulatedBoard) -> None:
        self._controller = controller
        self._board = board
        self._sms = SmsCommands(controller)
        #: Tasks that advance the time while the controller is unreachable.
        self._advances: set[asyncio.Task[None]] = set()

    def steps(self, query: str) -> list[Step]:
        """Parse the items of a query; refuse the first bad item."""
        try:
            steps = [self._step(item) for item in query.split("&") if item]
            check_distance(steps)
            return steps
        except Refusal as refusal:
            if any(map(_may_hold_secret, query.split("&"))):
                refusal.without_value().field = None
            raise refusal from None

    async def run(self, query: str) -> None:
        """Carry out all items of a query, or refuse the query and carry out none."""
        done = 0
        for are_sensed, steps in groupby(self.steps(query), callable):
            together = list(steps)
            for some in [together] if are_sensed else [[step] for step in together]:
                self._check_that_it_is_here(done)
                await self._carry_out(some)
                done += len(some)

    def _check_that_it_is_here(self, done: int) -> None:
        """Refuse the remaining items if another process may have continued the controller."""
        try:
            self._controller.check_that_it_is_here()
        except ControllerElsewhere:
            if not done:
                raise
            raise ControllerElsewhere(
                "The controller moved to another node during this request. Items carried out "
                f"before that: {done}. Send the remaining items again."
            ) from None

    async def _carry_out(self, steps: Sequence[Step]) -> None:
        """Carry out readings of one instant, or another single step."""
        step = steps[0]
        if isinstance(step, Arrival):
            await step.receive()
        elif isinstance(step, Advance):
            await step.carry_out(self._controller)
        elif isinstance(step, FaultChange):
            step.do()
        else:
            with self._board.one_instant():
                for sensed in steps:
                    if callable(sensed):
                        sensed()

    def _step(self, item: str) -> Step:
        name, equals, raw = item.partition("=")
        if not equals:
            raise Malformed(
                f"{item[:60]!r} has no value.",
                command=item[:120],
                discreet="An item has no value.",
            )
        try:
            return self._parse(decode_text(name), raw)
        except Refusal as refusal:
            raise refusal.of(item[:120], name[:40]) from None

    def _parse(self, name: str, raw: str) -> Step:
        text = decode_text(raw)
        if name == "advance":
            return advance_from_text(text, self._controller)
        if name == "until":
            return wait_from_text(text, self._controller)
        if name == PLANT:
            return self._plant(text)
        if name == "fault":
            return self._fault(text)
        if name == "ping":
            return self._ping(text)
        if name == "sms":
            return self._receive(text)
        if name in ("outbox", "requests"):
            return self._clear(name, text)
        if re.fullmatch(_SENSOR_ID, name):
            return self._one_sensor(name, text)
        if name == "onewire":
            if text == NONE:
                return self._board.clear_onewire
            sensor_id = OneWireId().parse(raw, self._controller.profile, NOTHING_SEEN)
            return lambda: self._board.attach_onewire(sensor_id)
        if text == PLANT and name in SETTABLE:
            return lambda: self._board.plug(name)
        reading = self._reading(name, text, raw)
        if reading is None and name in ONEWIRE:
            return lambda: self._unplug(name)
        return lambda: self._board.set_readings({name: reading})

    def _clear(self, name: str, text: str) -> Callable[[], None]:
        if text != CLEAR:
            raise BadValue(f"{text!r} is not valid.", value=text, allowed=CLEAR)
        controller = self._controller
        if name == "outbox":
            return lambda: controller.forget_captured()
        journal = controller.request_journal
        self._require_virtual_time("Requests are recorded in virtual time only.")
        return lambda: None if journal is None else journal.clear()

    def _unplug(self, label: str) -> None:
        """Unplug a 1-Wire reading: the value set by hand, and the sensor that is assigned to it."""
        self._board.detach_onewire(
            self._controller.engine.settings.onewire[ONEWIRE.index(label)].id
        )
        self._board.set_readings({label: None})

    def _reading(self, name: str, text: str, raw: str) -> Any:
        if name == "i2c":
            return _one_of(text, (*I2C_SENSORS[1:], NONE))
        if name == "barcode":
            return Text(BARCODE_LETTERS).parse(raw, self._controller.profile, NOTHING_SEEN)
        if name in DIGITAL_INPUTS:
            level = _one_of(text, ("0", "1", NONE))
            return None if level is None else int(level)
        if name in SETTABLE:
            return None if text == NONE else _read_value(text, LIMITS.get(name, LIGHTING_LIMITS))
        raise UnknownCommand(
            f"The simulated board has no {name[:40]!r}.",
            command=name[:40],
            discreet="The simulated board has no such reading.",
            allowed="advance, until, plant, fault, ping, onewire, a 1-Wire ID, i2c, barcode, sms, "
            + ", ".join(sorted(SETTABLE)),
        )

    def _plant(self, text: str) -> Callable[[], None]:
        if text == NONE:
            return self._board.unwire_all
        try:
            plant = plant_from_text(text)
        except BadPlant as error:
            raise BadValue(error.detail, value=error.value or None, allowed=error.allowed) from None
        return lambda: self._board.wire(plant, text)

    def _fault(self, text: str) -> Step:
        faults = self._controller.faults
        assert faults is not None
        if text == NONE:
            return FaultChange(faults.clear)
        ended, mark, number = text.partition(":")
        if ended == "end" and mark:
            known = [one.number for one in faults.report()]
            if not number.isdecimal() or int(number) not in known:
                allowed = ", ".join(map(str, known)) or "none is set"
                raise BadValue(f"There is no fault {number[:20]!r}.", value=text, allowed=allowed)
            return FaultChange(lambda: faults.remove_number(int(number)))
        try:
            fault = fault_from_text(text)
        except BadFault as error:
            raise BadValue(error.detail, value=error.value or None, allowed=error.allowed) from None
        return FaultChange(lambda: self._set_fault(faults, fault))

    def _set_fault(self, faults: Faults, fault: Fault) -> None:
        """Set a fault; while the controller is unreachable, real time advances the virtual time."""
        if len(faults.report()) >= MAX_FAULTS:
            raise Conflict(f"There are {MAX_FAULTS} faults already; end some with fault=none.")
        off_s = time_unreachable_s(fault)
        if off_s is not None and off_s > MAX_UNREACHABLE_S:
            raise Conflict(
                "This fault would also block the request that ends it.",
                allowed=f"for:TIME, or takes:TIME, up to {MAX_UNREACHABLE_S:.0f} s",
            )
        faults.add(fault)
        if off_s is not None and self._controller.clock.is_virtual:
            loop = asyncio.get_running_loop()
            loop.call_later(off_s, lambda: self._advance_soon(off_s))

    def _advance_soon(self, seconds: float) -> None:
        task = asyncio.get_running_loop().create_task(self._controller.advance(seconds))
        self._advances.add(task)
        task.add_done_callback(self._advances.discard)

    def _one_sensor(self, sensor_id: str, text: str) -> Callable[[], None]:
        if text == NONE:
            return lambda: self._board.detach_onewire(sensor_id)
        celsius = _read_value(text, LIMITS[ONEWIRE[0]])
        return lambda: self._board.attach_onewire(sensor_id, celsius)

    def _receive(self, text: str) -> Arrival:
        sender, colon, message = text.partition(":")
        if not colon or not re.fullmatch(_SENDER, sender):
            raise BadValue("The SMS has no sender.", value=text[:40], allowed="NUMBER:TEXT")
        if not 0 < len(message) <= SMS_LETTERS:
            raise BadValue(
                f"The SMS has {len(message)} characters.", allowed=f"1 to {SMS_LETTERS} characters"
            )

        async def receive() -> None:
            answer = await self._sms.take(sender, message)
            self._board.keep_message(ReceivedSms(sender, message, answer))

        return Arrival(receive)

    def _ping(self, text: str) -> Callable[[], None]:
        self._require_virtual_time(
            "Pings go to real hosts here; start with --virtual-time to simulate their responses."
        )
        host, _, answer = text.rpartition(":")
        if not host:
            raise BadValue(
                f"{text!r} does not name a host.", value=text, allowed="HOST:MILLISECONDS"
            )
        milliseconds = None if answer == NONE else _number(answer)
        if milliseconds is not None and not 0 <= milliseconds <= MAX_MILLISECONDS:
            raise BadValue(
                f"{answer} ms is not a ping time.",
                value=answer,
                allowed=f"0 to {MAX_MILLISECONDS:g}, or none",
            )
        return lambda: self._board.hosts.set_answer(host, milliseconds)

    def _require_virtual_time(self, otherwise: str) -> None:
        if not self._controller.clock.is_virtual:
            raise Conflict(otherwise)


def _may_hold_secret(item: str) -> bool:
    """Return whether an item may hold a secret: an SMS with its code, or a misdirected command."""
    name = item.partition("=")[0].lower()
    return name.startswith("sms") or may_hold_secret(name)


def _one_of(text: str, allowed: tuple[str, ...]) -> str | None:
    if text not in allowed:
        raise BadValue(f"{text!r} is not valid.", value=text, allowed=", ".join(allowed))
    return None if text == NONE else text


def _read_value(text: str, limits: tuple[float, float]) -> float:
    """Read a value that a sensor could deliver, or any number after `raw:`."""
    if text.startswith(RAW):
        return _number(text.removeprefix(RAW))
    number = _number(text)
    low, high = limits
    if not low <= number <= high:
        raise BadValue(
            f"{text} is outside the range of the sensor; {RAW}{text} forces this value.",
            value=text,
            allowed=f"{low:g} to {high:g}, none, or {RAW}NUMBER",
        )
    return number


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadValue(f"{text!r} is not a number.", value=text, allowed="a number, or none")
    # Adding 0.0 turns minus zero into zero.
    return number + 0.0
