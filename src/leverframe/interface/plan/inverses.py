"""The field values with which each command produces the desired settings.

A row that names the settings of its fields is inverted directly: its fields are read from the
settings, once for each list position that the row can address. For a row that runs a function, this
module has the inverse of that function. `planner.py` tries each request to find out whether it is
needed, allowed and harmless. Commands that do not set anything have no inverse.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from string import Formatter
from typing import Any

from leverframe.core.profile import Profile
from leverframe.core.settings import ControlUser, ModbusDevice, Settings
from leverframe.core.tree import value_at
from leverframe.interface.plan.plan_builder import (
    PlannedRequest,
    form_request,
    list_request,
    write_item,
    write_request,
)
from leverframe.interface.table import (
    accounts,
    display,
    energy,
    inputs,
    modbus,
    notifications,
    outputs,
    pwm,
    schedule,
    sensors,
    serial_port,
    user_interface,
)
from leverframe.interface.table import notifications as email
from leverframe.interface.table.accounts import HASH_PREFIX
from leverframe.interface.table.bodies import ListBody
from leverframe.interface.table.params import Changed, Int, Param, Position
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import Row, Run


def requests_for(
    row: Row, now: Settings, wanted: Settings, profile: Profile
) -> Iterator[PlannedRequest]:
    """Yield the field values of a row that change its settings into the desired ones."""
    special = _REQUESTS.get(row.run) if row.run else None
    if special is not None:
        yield from special(row, now, wanted, profile)
        return
    inverse = _FIELDS.get(row.run) if row.run else None
    found = inverse(wanted) if inverse else _fields_of_paths(row, wanted, profile)
    for values in found:
        request = write_request(row, values, profile)
        if request is not None:
            yield request


def _fields_of_paths(row: Row, wanted: Settings, profile: Profile) -> Iterator[dict[str, Any]]:
    """Read the fields of a row that names their settings, for each of its places."""
    paths = {letter: found[0] for letter, found in row.sets.items()}
    if set(row.params) - set(paths) - (letters := _letters(paths.values())):
        return
    order = sorted(letters)
    for places in product(*(places_of(row.params[letter], profile) for letter in order)):
        values: dict[str, Any] = dict(zip(order, places, strict=True))
        try:
            for letter, path in paths.items():
                values[letter] = value_at(wanted, path.format_map(values))
        except IndexError:
            # The command addresses more places than the list of this version has.
            continue
        if paths:
            yield values


def _letters(paths: Iterable[str]) -> set[str]:
    return {name for path in paths for _, name, _, _ in Formatter().parse(path) if name}


def places_of(param: Param, profile: Profile) -> Iterable[int]:
    if isinstance(param, Changed):
        return places_of(param.pick(profile), profile)
    if isinstance(param, Position):
        return param.free(profile)
    assert isinstance(param, Int)
    return range(param.lo, param.hi + 1)


Fields = Callable[[Settings], Iterable[Mapping[str, Any]]]


def _each(count: int, **fields: Callable[[Settings, int], Any]) -> Fields:
    """Return the inverse of a command whose field A is the place of the other fields."""

    def values(wanted: Settings) -> Iterator[Mapping[str, Any]]:
        for place in range(count):
            yield {name: read(wanted, place) for name, read in fields.items()}

    return values


def _once(read: Callable[[Settings], Any]) -> Fields:
    """Return the inverse of a command whose only field is A."""
    return lambda wanted: ({"A": read(wanted)},)


def _bits(field: str) -> Fields:
    return _once(lambda wanted: tuple(getattr(one, field) for one in wanted.digital_inputs))


def _periodic_times(wanted: Settings) -> Iterator[Mapping[str, Any]]:
    for index, output in enumerate(wanted.outputs):
        yield {"A": index, "B": output.on_time}
        yield {"A": index + len(wanted.outputs), "B": output.off_time}


def _older_inputs(wanted: Settings) -> Iterator[Mapping[str, Any]]:
    for index, reading in enumerate(wanted.differentials[:3]):
        yield {"A": index, "B": reading.first}
        yield {"A": index + 3, "B": reading.second}


def _power_inputs(count: int) -> Fields:
    def values(wanted: Settings) -> Iterator[Mapping[str, Any]]:
        for index, meter in enumerate(wanted.power[:count]):
            yield {"A": index, "B": meter.current}
            yield {"A": index + count, "B": meter.voltage}

    return values


def _sensor_names(wanted: Settings) -> Iterator[Mapping[str, Any]]:
    names = [sensor.name for sensor in wanted.onewire]
    for index, name in enumerate((*names, wanted.weather.t1_name, wanted.weather.h1_name)):
        yield {"A": index, "B": name}


def _single_screen(wanted: Settings) -> Iterator[Mapping[str, Any]]:
    oled = wanted.oled
    yield {"A": oled.enabled, **dict(zip("BCDE", oled.screens[0].lines, strict=True))}


def _whole_email(wanted: Settings) -> Iterator[Mapping[str, Any]]:
    fields = {letter: value_at(wanted, path) for letter, path in email.PATHS.items()}
    texts = (*wanted.email.on_texts, *wanted.email.off_texts)
    yield fields | {"H": texts, "I": wanted.email.tls}


def _informs(wanted: Settings) -> Iterator[Mapping[str, Any]]:
    for number, receiver in enumerate(wanted.snmp.receivers, start=1):
        yield {"A": number, "B": receiver.inform}


def _module_writes(wanted: Settings) -> Iterator[Mapping[str, Any]]:
    for number, write in enumerate(wanted.modbus_writes, start=1):
        yield {"A": number} | {
            letter: getattr(write, name) for letter, name in modbus.SETTINGS.items()
        }


_FIELDS: dict[Run, Fields] = {
    outputs.set_periodic_time: _periodic_times,
    pwm.set_polarity_and_mode: _once(
        lambda wanted: (
            *(one.active_low for one in wanted.pwm),
            *(one.on_off_mode for one in wanted.pwm),
        )
    ),
    inputs.set_pull_ups: _bits("pull_up"),
    inputs.set_negations: _bits("negate_display"),
    inputs.set_bistable_modes: _bits("bistable"),
    inputs.set_differential_input: _older_inputs,
    sensors.bind_id: _each(8, A=lambda _, i: i + 1, B=lambda w, i: w.onewire[i].id),
    sensors.set_offset: _each(8, A=lambda _, i: i + 1, B=lambda w, i: w.onewire[i].offset),
    sensors.select_sensors: _once(lambda wanted: (wanted.i2c.primary, wanted.i2c.sps30)),
    sensors.name_sensor: _sensor_names,
    display.save_single_screen: _single_screen,
    email.set_texts: _whole_email,
    energy.select_input: _power_inputs(6),
    energy.select_input_older: _power_inputs(4),
    modbus.map_readings: _once(
        lambda wanted: tuple((one.slot, one.reading) for one in wanted.modbus_mapping)
    ),
    modbus.set_write: _module_writes,
    serial_port.choose_module: _once(lambda wanted: wanted.serial.module),
    serial_port.set_numbers: _each(4, A=lambda _, i: i + 1, B=lambda w, i: w.gsm.sms[i].numbers),
    serial_port.set_slot_texts: _each(
        4,
        A=lambda _, i: i + 1,
        B=lambda w, i: w.gsm.sms[i].on_text,
        C=lambda w, i: w.gsm.sms[i].off_text,
    ),
    serial_port.set_9600: lambda wanted: ({},),
    user_interface.set_refresh: _once(lambda wanted: wanted.ui.refresh),
    user_interface.set_homepage: _once(lambda wanted: wanted.ui.homepage),
    user_interface.set_auto_sign_in: _once(lambda wanted: wanted.ui.auto_sign_in),
    user_interface.set_firmware_check: _once(lambda wanted: wanted.ui.firmware_check),
    user_interface.set_names_only: _once(lambda wanted: wanted.ui.names_only),
    user_interface.set_user_read_only: _once(lambda wanted: wanted.ui.user_read_only),
    email.set_mail: _each(
        4,
        A=lambda _, i: i + 1,
        B=lambda w, i: w.email.on_texts[i],
        C=lambda w, i: w.email.off_texts[i],
        D=lambda w, _: w.email.recipient,
    ),
    serial_port.set_message: _each(
        4,
        A=lambda _, i: i + 1,
        B=lambda w, i: w.gsm.sms[i].on_text,
        C=lambda w, i: w.gsm.sms[i].off_text,
        D=lambda w, i: w.gsm.sms[i].numbers,
    ),
    notifications.set_url: _each(4, A=lambda _, i: i + 1, B=lambda w, i: w.http[i].url),
    notifications.set_post: _each(
        4,
        A=lambda _, i: i + 1,
        B=lambda w, i: w.http[i].post,
        C=lambda w, i: w.http[i].body,
    ),
    notifications.set_receiver: _each(
        3,
        A=lambda _, i: i + 2,
        B=lambda w, i: w.snmp.more_traps[i].enabled,
        C=lambda w, i: w.snmp.more_traps[i].host,
        D=lambda w, i: w.snmp.more_traps[i].port,
        E=lambda w, i: w.snmp.more_traps[i].community,
    ),
    notifications.set_inform: _informs,
    schedule.set_active: lambda wanted: (
        {"A": place, "B": entry.active}
        for place, entry in enumerate(wanted.schedule)
        if entry is not None
    ),
}


def _display(
    row: Row, now: Settings, wanted: Settings, profile: Profile
) -> Iterator[PlannedRequest]:
    values = {name: value_at(wanted, path) for name, path in display.PATHS.items()}
    request = form_request(row, values, profile)
    if request is not None:
        yield request


def _gains(row: Row, now: Settings, wanted: Settings, profile: Profile) -> Iterator[PlannedRequest]:
    """Set a gain; if the desired sensor does not accept it, set it before changing the sensor."""
    for place in places_of(row.params["A"], profile):
        analog = wanted.analog_inputs[place]
        gain = write_request(row, {"A": place, "B": analog.gain}, profile)
        if gain is None or analog.sensor == inputs.AMPLIFIED:
            yield from () if gain is None else (gain,)
            continue
        first, last = (
            write_request(inputs.SENSOR_ROW, {"A": place, "B": sensor}, profile)
            for sensor in (inputs.AMPLIFIED, analog.sensor)
        )
        if first and last:
            yield PlannedRequest("GET", f"{first.target}&{gain.query}&{last.query}")


def _logins(
    row: Row, now: Settings, wanted: Settings, profile: Profile
) -> Iterator[PlannedRequest]:
    """Set a login; changing the address deletes it unless the same request sets both."""
    for number, call in enumerate(wanted.http, start=1):
        login = write_request(row, {"A": number, "B": call.username, "C": call.password}, profile)
        address = write_request(notifications.URL_ROW, {"A": number, "B": call.url}, profile)
        if login is not None:
            yield login
            if address is not None:
                yield PlannedRequest("GET", f"{address.target}&{login.query}")


def _readings(
    row: Row, now: Settings, wanted: Settings, profile: Profile
) -> Iterator[PlannedRequest]:
    """Describe the readings of a custom device: only differing readings, or all of them."""
    for device, (old, new) in enumerate(
        zip(now.modbus_devices, wanted.modbus_devices, strict=True)
    ):
        every = range(len(new.readings))
        differing = [index for index in every if old.readings[index] != new.readings[index]]
        for indices in (differing, every):
            items = [_reading_texts(row, device, index, new, profile) for index in indices]
            if sayable := [texts for texts in items if texts]:
                yield list_request(row, sayable)


def _reading_texts(
    row: Row, device: int, index: int, described: ModbusDevice, profile: Profile
) -> dict[str, str] | None:
    assert isinstance(row.body, ListBody)
    reading = described.readings[index]
    fields = {letter: getattr(reading, name) for letter, name in modbus.READING_SETTINGS.items()}
    return _sayable(row.body, {"A": device, "B": index, **fields}, profile)


def _sayable(body: ListBody, values: Mapping[str, Any], profile: Profile) -> dict[str, str] | None:
    try:
        return write_item(body.item, body.params, values, profile)
    except (Refusal, ValueError):
        return None


def _schedule(
    row: Row, now: Settings, wanted: Settings, profile: Profile
) -> Iterator[PlannedRequest]:
    """Send the complete schedule, without the parts that the command cannot express."""
    body = row.body
    assert isinstance(body, ListBody)
    items = []
    for place, entry in enumerate(wanted.schedule):
        if entry is not None:
            texts = _sayable(body, {"A": place, **schedule.fields_of_entry(entry)}, profile)
            items += [texts] if texts else []
    yield list_request(row, items)


def _watchdog(
    row: Row, now: Settings, wanted: Settings, profile: Profile
) -> Iterator[PlannedRequest]:
    names = [name for name, _ in schedule.WATCHDOG_ENTRY.fields]
    entries = ({name: getattr(one, name) for name in names} for one in wanted.watchdog)
    request = write_request(row, dict(zip("ABCDEF", entries, strict=True)), profile)
    if request is not None:
        yield request


def _accounts(
    row: Row, now: Settings, wanted: Settings, profile: Profile
) -> Iterator[PlannedRequest]:
    """Set up sign-in; send a password only if the desired password is known and differs."""
    access, before = wanted.access, now.access
    request = write_request(
        row,
        {
            "A": access.required,
            "B": access.updates_allowed,
            "C": access.admin.name,
            "D": _new_password(before.admin.password, access.admin.password),
            "E": access.user.name,
            "F": _new_password(before.user.password, access.user.password),
        },
        profile,
    )
    if request is not None:
        yield request


def _new_password(old: str, new: str) -> str:
    return "" if new == old or new.startswith(HASH_PREFIX) else new


def _users(row: Row, now: Settings, wanted: Settings, profile: Profile) -> Iterator[PlannedRequest]:
    """Send all control users; if the password of a user cannot be sent, it stays unchanged."""
    body = row.body
    assert isinstance(body, ListBody)
    known = {user.name: user.password for user in now.access.users if user is not None}
    items = []
    for place, (old, new) in enumerate(zip(now.access.users, wanted.access.users, strict=True)):
        user = new if new is None or _can_be_given(new, known) else old
        if user is not None:
            password = _new_password(known.get(user.name, ""), user.password)
            fields = {"A": place, "B": user.name, "C": password, "D": user.active}
            texts = _sayable(body, fields, profile)
            items += [texts] if texts else []
    yield list_request(row, items)


def _can_be_given(user: ControlUser, known: Mapping[str, str]) -> bool:
    kept = known.get(user.name, "") == user.password
    return kept or not user.password.startswith(HASH_PREFIX) and user.password != ""


_Requests = Callable[[Row, Settings, Settings, Profile], Iterator[PlannedRequest]]
_REQUESTS: dict[Run, _Requests] = {
    display.save: _display,
    inputs.set_gain: _gains,
    notifications.set_login: _logins,
    modbus.save_readings: _readings,
    schedule.save: _schedule,
    schedule.set_all: _watchdog,
    accounts.set_accounts: _accounts,
    accounts.save_users: _users,
}
