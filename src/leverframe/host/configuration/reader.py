"""The sources of the configuration's values: a file, environment variables, options.

Options override variables, variables override the file, and the file overrides the defaults. Texts
of variables and options are converted to the type of the key where possible; values that cannot be
converted are reported with all other mistakes.
"""

import re
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.profile import HARDWARE
from leverframe.devices.wiring import find_mistakes
from leverframe.host.configuration.fields import BadConfiguration, Config, NodeConfig
from leverframe.host.configuration.keys import (
    PREFIX,
    Key,
    as_toml,
    describe_type,
    is_table,
    keys,
    list_labelled,
    nearest,
    split_type,
)
from leverframe.host.configuration.toml import TomlPath, line_of, read_toml

_SWITCH_WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class Sources:
    """The configured values, in tables as in a file, and the source of each."""

    def __init__(
        self, file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
    ) -> None:
        self.file = file
        self._text, self._in_file = ("", {}) if file is None else read_toml(file, BadConfiguration)
        self._over: dict[tuple[str, ...], str] = {}
        self.values: dict[str, Any] = _copy(self._in_file)
        #: Sentences about environment variables that match no key.
        self.unknown = list(_unknown_variables(environment))
        for key in keys():
            # Many tools unset a variable by setting it to an empty text.
            if text := environment.get(key.variable):
                self._put(key, _from_text(key, text), key.variable)
        for key in keys():
            if (value := flags.get(key.name)) is not None:
                converted = _from_text(key, value) if isinstance(value, str) else value
                self._put(key, converted, key.flag)

    def _put(self, key: Key, value: Any, origin: str) -> None:
        table = self.values
        for part in key.place[:-1]:
            inner = table.get(part)
            # A parent that is not a table is replaced by a table: this key overrides it.
            table[part] = inner if isinstance(inner, dict) else {}
            table = table[part]
        table[key.place[-1]] = value
        self._over[key.place] = origin

    def origin(self, place: TomlPath) -> str | None:
        """Return the source of the value at a place, or of a value within it; None if not set."""
        if not place:
            return None
        for overridden, origin in self._over.items():
            if overridden == place[: len(overridden)] or place == overridden[: len(place)]:
                return origin
        if self.file is not None and _holds(self._in_file, place[:-1]):
            return self.line(place)
        return None

    def line(self, place: TomlPath) -> str:
        """Return the line of a place in the file."""
        return f"{self.file}, line {line_of(self._text, place)}"

    def is_in_file(self, origin: str) -> bool:
        return origin not in self._over.values()

    def has(self, place: TomlPath) -> bool:
        return _holds(self.values, place)


def _holds(table: Any, place: TomlPath) -> bool:
    for part in place:
        if not isinstance(table, dict) or part not in table:
            return False
        table = table[part]
    return True


def _copy(table: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _copy(value) if isinstance(value, dict) else value for name, value in table.items()
    }


def _from_text(key: Key, text: str) -> Any:
    if key.is_list:
        return [part for item in text.split(",") if (part := item.strip())]
    if key.is_switch:
        return _SWITCH_WORDS.get(text.lower(), text)
    if key.plain is int:
        try:
            return int(text, 0)
        except ValueError:
            return text
    return text


def _unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each unknown variable, without its value, which may be secret."""
    known = [key.variable for key in keys()]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            suggestion = nearest(name, known)
            advice = f"Did you mean {suggestion}?" if suggestion else "Remove it."
            yield f"{name}: no key belongs to this environment variable. {advice}"


# Read the configuration and check all of it before anything starts.
#
# Every mistake is reported in one line: where the value comes from (file and line, variable or
# option), what is wrong, and what is allowed.

Place = tuple[str, ...]
C = TypeVar("C", bound=NodeConfig)
NOTHING: Mapping[str, str] = {}
#: An origin as browsers send it: lower case, without a path. `*` and `null` are not origins.
_ORIGIN = r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?"


class Mistake(Struct, frozen=True):
    place: Place
    sentence: str


def read_config(
    file: Path | None, flags: Mapping[str, Any], environment: Mapping[str, str] = NOTHING
) -> Config:
    """Read the configuration; raise `BadConfiguration` with a line for each mistake."""
    return check_sources(Sources(file, environment, flags), Config)


def check_sources(sources: Sources, kind: type[C]) -> C:
    """Convert the values of all sources to a configuration, or raise `BadConfiguration`."""
    misshapen = list(_misshapen(sources.values, kind, ()))
    wrong = {mistake.place[0] for mistake in misshapen}
    sound = {name: value for name, value in sources.values.items() if name not in wrong}
    config = msgspec.convert(sound, kind)
    mistakes = [*misshapen, *_contradictions(config, wrong, sources)]
    lines = [*sources.unknown, *(_sentence(mistake, sources) for mistake in mistakes)]
    if lines:
        raise BadConfiguration("\n".join(lines))
    return config


def _sentence(mistake: Mistake, sources: Sources) -> str:
    origin = sources.origin(mistake.place)
    if origin is None:
        return mistake.sentence
    # The name of an option or variable already contains the key.
    name, sentence = ".".join(mistake.place), mistake.sentence
    if not sources.is_in_file(origin):
        sentence = sentence.removeprefix(f"{name}: ")
        if sentence.startswith(f"{name} must "):
            return f"{origin}{sentence.removeprefix(name)}"
    return f"{origin}: {sentence}"


def _misshapen(value: Any, hint: Any, place: Place) -> Iterator[Mistake]:
    """Yield a mistake for every value that does not fit the type of its place."""
    plain, _ = split_type(hint)
    name = ".".join(place)
    if get_origin(plain) is dict or is_table(plain):
        if not isinstance(value, dict):
            yield Mistake(place, f"{name} must be a table, written as [{name}].")
        elif is_table(plain):
            yield from misshapen_table(value, plain, place)
        else:
            for label, inner in value.items():
                yield from _misshapen(inner, get_args(plain)[1], (*place, label))
        return
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
        yield Mistake(place, f"{name} must be {describe_type(hint)}, not {shown}.")


def misshapen_table(table: dict[str, Any], struct: type[Struct], place: Place) -> Iterator[Mistake]:
    """Yield a mistake for every key of a table that is unknown, missing or of the wrong type."""
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    for name, value in table.items():
        if name in fields:
            yield from _misshapen(value, fields[name].type, (*place, name))
        else:
            yield Mistake((*place, name), _unknown((*place, name), list(fields)))
    for name, field in fields.items():
        if field.required and name not in table:
            missing = f"{name} is missing in {'.'.join(place)}"
            yield Mistake(place, f"{missing}; it must be {describe_type(field.type)}.")


def _unknown(place: Place, known: list[str]) -> str:
    suggestion = nearest(place[-1], known)
    if suggestion:
        return f"Unknown key {'.'.join(place)}. Did you mean {suggestion}?"
    return f"Unknown key {'.'.join(place)}; known keys: {', '.join(known)}."


def _contradictions(config: NodeConfig, wrong: set[str], sources: Sources) -> Iterator[Mistake]:
    """Yield mistakes in values of the right type; skip keys that already have a mistake."""
    for names, check in _CHECKS:
        if not wrong.isdisjoint(names) or not set(names) <= set(config.__struct_fields__):
            continue
        try:
            check(config)
        except BadConfiguration as error:
            present = [name for name in names if sources.has((name,))]
            yield Mistake((*present[:1],), str(error))
    if isinstance(config, Config) and "board" not in wrong:
        yield from (Mistake(*mistake) for mistake in find_mistakes(config.board))


def wrong_keys(config: Config, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the invalid keys, each with an explanation."""
    for names, check in _CHECKS:
        for key in [name for name in names if name in keys][:1]:
            try:
                check(config)
            except BadConfiguration as error:
                yield key, str(error)


def _check_hardware(config: Config) -> None:
    # Any software version is accepted here; `_check_software` checks the configured one.
    replace(config.version, sw=None).profile(None, None, None)


def _check_software(config: Config) -> None:
    if config.hw is None or config.hw in HARDWARE:
        config.version.profile(None, None, None)


def _check_origins(config: Config) -> None:
    for origin in config.cors_origins:
        if not re.fullmatch(_ORIGIN, origin):
            raise BadConfiguration(
                f"cors_origins: {origin!r} is not an origin; write it as browsers send it, such as "
                "https://panel.example or http://192.168.1.5:3000."
            )


def _check_ca_file(config: NodeConfig) -> None:
    if config.ca_file is None:
        return
    try:
        ssl.create_default_context(cafile=config.ca_file)
    except ssl.SSLError:
        raise BadConfiguration(
            f"{config.ca_file} contains no certificates; use a PEM file as ca_file."
        ) from None
    except OSError as error:
        raise BadConfiguration(f"{config.ca_file} cannot be read: {error.strerror}.") from error


def _check_firmware_check_url(config: Config) -> None:
    if config.firmware_check_url is None:
        return
    try:
        parts = urlsplit(config.firmware_check_url)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise BadConfiguration(
            f"firmware_check_url: {config.firmware_check_url!r} is not an HTTP or HTTPS URL; write"
            " it like https://example.org/newest.json."
        )


def _check_serial_ports(config: Config) -> None:
    if config.serial_port is not None and config.serial_port == config.serial_modbus:
        raise BadConfiguration(
            "serial_port and serial_modbus are the same device; use one for the module and another"
            " for the bus."
        )


def _check_tls_files(config: NodeConfig) -> None:
    if (config.tls_certificate is None) != (config.tls_key is None):
        raise BadConfiguration("tls_certificate and tls_key belong together; set both or neither.")


def _check_mqtt_files(config: Config) -> None:
    if (config.mqtt_certificate is None) != (config.mqtt_key is None):
        raise BadConfiguration(
            "mqtt_certificate and mqtt_key belong together; set both or neither."
        )


def _check_virtual_time(config: Config) -> None:
    if config.virtual_time and config.board.kind != "simulated":
        raise BadConfiguration(
            "Virtual time requires the simulated board, because real devices do not wait. Remove"
            f' --virtual-time or kind = "{config.board.kind}".'
        )


#: The keys that a check examines, and the check function, which raises `BadConfiguration`.
_CHECKS: tuple[tuple[tuple[str, ...], Callable[[Any], object]], ...] = (
    (("hw",), _check_hardware),
    (("sw", "hw"), _check_software),
    (("timezone",), NodeConfig.zone),
    (("virtual_start", "timezone"), NodeConfig.first_moment),
    (("cors_origins",), _check_origins),
    (("name",), Config.check_name),
    (("mac",), Config.mac_address),
    (("modbus_writers",), NodeConfig.writing_networks),
    (("trusted",), Config.networks_without_sign_in),
    (("proxies",), NodeConfig.proxy_networks),
    (("firmware_key",), Config.public_key),
    (("ca_file",), _check_ca_file),
    (("firmware_check_url",), _check_firmware_check_url),
    (("serial_port", "serial_modbus"), _check_serial_ports),
    (("tls_certificate", "tls_key"), _check_tls_files),
    (("mqtt_certificate", "mqtt_key"), _check_mqtt_files),
    (("virtual_time", "board"), _check_virtual_time),
)


# The effective configuration: every value and its source.


class EffectiveSetting(Struct, frozen=True):
    """A configured value, as TOML, and its source."""

    key: str
    value: str
    source: str


def in_columns(settings: Sequence[EffectiveSetting]) -> str:
    """Format the effective configuration in columns, one value per line."""
    keys_width = max(len(it.key) for it in settings)
    values_width = min(40, max(len(it.value) for it in settings))
    return "\n".join(
        f"{it.key:{keys_width}}  {it.value:{values_width}}  {it.source}" for it in settings
    )


def effective_settings(sources: Sources, config: Config) -> list[EffectiveSetting]:
    """Return every value that is set, with its source."""
    return [*_effective_settings(sources, config)]


def _effective_settings(sources: Sources, config: Config) -> Iterator[EffectiveSetting]:
    for key in keys():
        value = _value(config, key.place)
        if value is not None:
            yield EffectiveSetting(key.name, as_toml(value), _origin(sources, key.place))
    for tables in list_labelled():
        for label, table in _value(config, tables.place).items():
            place = (*tables.place, label)
            value = as_toml(msgspec.to_builtins(table))
            yield EffectiveSetting(".".join(place), value, _origin(sources, place))


def _value(config: Config, place: tuple[str, ...]) -> Any:
    value: Any = config
    for part in place:
        value = getattr(value, part, None)
    return value


def _origin(sources: Sources, place: tuple[str, ...]) -> str:
    return (sources.origin(place) if sources.has(place) else None) or "default"
