"""What each setting may be on which version, whatever way it comes in.

Commands check what they are sent; a backup brings settings without commands. The limits are those
of the table: where a row says which setting a field goes to, the field's type is the setting's
type, and what is left is written down here. A value is allowed if its command could be sent: it is
written as the command would have it, and reading that back must give the same value. The default
is always allowed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from leverframe.commands.table import (
    accounts,
    codes,
    display,
    modbus,
    notifications,
    sensors,
    serial_port,
    user_interface,
    watchdog,
)
from leverframe.commands.table.codes import HW35_SW
from leverframe.commands.table.email import TEXT as MAIL_TEXT
from leverframe.commands.table.matching import TABLE
from leverframe.commands.table.outputs import SECONDS
from leverframe.commands.table.params import (
    NOTHING_SEEN,
    Flag,
    Int,
    ListOf,
    MappingItem,
    OneWireId,
    Param,
    Seconds10,
    Seen,
    Text,
    Trailing,
    Word,
)
from leverframe.commands.table.refusals import Refusal
from leverframe.profile import ALWAYS, Profile, Spans, offered

_HOLE = re.compile(r"\\\{([A-Z])\\\}")
#: The settings of a reading of a custom device, by the field that sets them.
_READING_FIELDS = dict(
    zip(
        "CDEFGHI",
        ("name", "unit", "divisor", "register", "function", "type", "endian"),
        strict=True,
    )
)
I2C_SENSORS = codes.CodeTable("I2C sensor", codes.run(0, codes.I2C_SENSORS))


@dataclass(frozen=True, slots=True)
class Limit:
    """What one command allows for the settings whose path fits."""

    path: re.Pattern[str]
    param: Param
    when: Spans = ALWAYS
    #: The types of the path's places, where they are fields of the command.
    places: Mapping[str, Param] | None = None

    def takes(self, match: re.Match[str], value: Any, profile: Profile) -> bool:
        if not offered(self.when, profile):
            return False
        seen: dict[str, Any] = {}
        for letter, text in match.groupdict().items():
            place = (self.places or {})[letter]
            if not is_sendable(place, int(text), profile, seen):
                return False
            seen[letter] = int(text)
        return is_sendable(self.param, value, profile, seen)


def is_sendable(param: Param, value: Any, profile: Profile, seen: Seen = NOTHING_SEEN) -> bool:
    """Whether a command could have set this value: written and read back it is the same."""
    if isinstance(param, Trailing) and not offered(param.when, profile):
        return bool(value == param.default)
    try:
        return bool(param.parse(param.format(value, profile, seen), profile, seen) == value)
    except (Refusal, ValueError, OverflowError, TypeError, StopIteration):
        return False


def _fixed(path: str, param: Param, when: Spans = ALWAYS) -> Limit:
    """A limit written down here; `*` is any place, `[0-3]` some of them."""
    pattern = path.replace(".", r"\.").replace("*", r"\d+")
    return Limit(re.compile(pattern), param, when)


def _by_function() -> tuple[Limit, ...]:
    """The limits of settings that commands set by a function of their own."""
    return (
        _fixed("outputs.*.(?:on|off)_time", SECONDS),
        _fixed("pwm.*.(?:active_low|on_off_mode)", Flag()),
        _fixed("analog_inputs.[0-3].gain", Word(codes.GAINS, numeric=True)),
        _fixed("digital_inputs.*.(?:pull_up|negate_display|bistable)", Flag()),
        _fixed("differentials.[0-2].(?:first|second)", Word(codes.DIFFERENTIAL_INPUTS_OLDER)),
        _fixed("onewire.*.id", OneWireId()),
        _fixed("onewire.*.name", sensors.NAME),
        _fixed("onewire.*.offset", sensors.OFFSET),
        _fixed("onewire_extra.*.names", ListOf(sensors.NAME, 3), HW35_SW["1.57"]),
        _fixed("weather.[th]1_name", sensors.NAME),
        _fixed("i2c.primary", Word(I2C_SENSORS)),
        _fixed("i2c.sps30", Flag()),
        _fixed("serial.module", Word(codes.SERIAL_MODULES)),
        _fixed("serial.lighting", Flag()),
        _fixed("gsm.sms.*.numbers", ListOf(serial_port.PHONE, 8, ":", least=0)),
        _fixed("gsm.sms.*.(?:on|off)_text", serial_port.SMS_TEXT),
        _fixed("email.(?:on|off)_texts", ListOf(MAIL_TEXT, 4)),
        _fixed("power.*.current", Word(codes.CURRENT_INPUTS), HW35_SW["1.49"]),
        _fixed("power.*.voltage", Word(codes.VOLTAGE_INPUTS), HW35_SW["1.49"]),
        _fixed("power.[0-3].current", Word(codes.CURRENT_INPUTS_OLDER)),
        _fixed("power.[0-3].voltage", Word(codes.VOLTAGE_INPUTS_OLDER)),
        _fixed("modbus_mapping.*.reading", Int(0, 29), HW35_SW["1.36"]),
        *(
            _fixed(f"modbus_devices.*.readings.*.{name}", modbus.READING_FIELDS[x], HW35_SW["1.36"])
            for x, name in _READING_FIELDS.items()
        ),
        *(_fixed(f"watchdog.*.{name}", param) for name, param in watchdog.ENTRY.fields),
        _fixed("http.*.url", notifications.URL),
        _fixed("http.*.post", Flag()),
        _fixed("http.*.body", Text(255)),
        _fixed("http.*.username", Text(63)),
        _fixed("http.*.password", notifications.SECRET),
        _fixed("ui.refresh", Seconds10(3, 32767)),
        _fixed("ui.homepage", Word(codes.HOMEPAGES), user_interface.HOMEPAGE),
        _fixed("ui.homepage", Word(codes.HOMEPAGES_OLDER), user_interface.HOMEPAGE_OLDER),
        _fixed("ui.names_only", Flag(), user_interface.NAMES_ONLY),
        _fixed("ui.user_read_only", Flag(), user_interface.READ_ONLY_USER),
        _fixed("ui.firmware_check", Flag(), user_interface.FIRMWARE_CHECK),
        _fixed("ui.auto_sign_in", Flag(), user_interface.AUTO_SIGN_IN),
        # Page settings share positions with the variables, so no position is anybody's alone here.
        _fixed("variables.bits", ListOf(Int(0, 1), 8)),
        _fixed("variables.bytes", ListOf(Int(-128, 127), 4)),
        _fixed("variables.words", ListOf(Int(-32768, 32767), 4)),
        _fixed("oled.enabled", Flag()),
        _fixed("oled.screens.*.lines", ListOf(Text(63), 4)),
        _fixed("access.(?:required|updates_allowed)", Flag()),
        _fixed("access.(?:admin|user).name", accounts.ACCOUNT_NAME),
        _fixed("access.users.*.name", Text(accounts.MAX_LETTERS, 1)),
        _fixed("access.users.*.active", Flag()),
        _fixed(
            r"access.(?:admin|user|users.*).password",
            Text(255, pattern=r"|\$argon2id\$[!-~]+", form="an Argon2id hash"),
        ),
    )


def _by_field() -> Iterator[Limit]:
    """The limits of rows that say which setting a field goes to."""
    for row in TABLE:
        for letter, paths in row.sets.items():
            for path in paths:
                pattern = _HOLE.sub(r"(?P<\1>\\d+)", re.escape(path))
                yield Limit(re.compile(pattern), row.params[letter], row.when, row.params)


@lru_cache(maxsize=1)
def _limits() -> tuple[Limit, ...]:
    return (*_by_field(), *_screen_limits(), *_by_function())


def _screen_limits() -> Iterator[Limit]:
    """The display's form: every field names its setting."""
    for name, path in display.PATHS.items():
        yield Limit(re.compile(re.escape(path)), display.FIELDS[name], display.ROWS[0].when)


@lru_cache(maxsize=8192)
def _limits_of(path: str) -> tuple[tuple[Limit, re.Match[str]], ...]:
    found = ((limit, limit.path.fullmatch(path)) for limit in _limits())
    return tuple((limit, match) for limit, match in found if match is not None)


def is_allowed(path: str, value: Any, default: Any, profile: Profile) -> bool:
    """Whether a version allows this value for the setting at this path."""
    if value == default:
        return True
    if path.startswith("modbus_mapping.") and path.endswith(".slot"):
        mapped = is_sendable(MappingItem(), (value, 0), profile)
        return mapped and offered(HW35_SW["1.36"], profile)
    if any(limit.takes(match, value, profile) for limit, match in _limits_of(path)):
        return True
    if not isinstance(value, tuple) or not isinstance(default, tuple):
        return False
    return _each_is_allowed(path, value, default, profile)


def _each_is_allowed(
    path: str, values: tuple[Any, ...], defaults: tuple[Any, ...], profile: Profile
) -> bool:
    """Lists of which a command sets one item at a time."""
    return len(values) == len(defaults) and all(
        is_allowed(f"{path}.{place}", value, default, profile)
        for place, (value, default) in enumerate(zip(values, defaults, strict=True))
    )
