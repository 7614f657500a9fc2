"""The effective configuration: every value and its source."""

from collections.abc import Iterator
from typing import Any

import msgspec

from leverframe.config.described import keys, list_labelled
from leverframe.config.example import as_toml
from leverframe.config.fields import Config
from leverframe.config.sources import Sources


def effective_table(sources: Sources, config: Config) -> str:
    """Format the effective configuration in columns, one value per line."""
    rows = list(_rows(sources, config))
    names, values = (max(map(len, column)) for column in list(zip(*rows, strict=True))[:2])
    return "\n".join(
        f"{name:{names}}  {value:{min(values, 40)}}  {origin}" for name, value, origin in rows
    )


def _rows(sources: Sources, config: Config) -> Iterator[tuple[str, str, str]]:
    """Yield name, value as TOML, and origin of every value that is set."""
    for key in keys():
        value = _value(config, key.place)
        if value is not None:
            yield key.name, as_toml(value), _origin(sources, key.place)
    for tables in list_labelled():
        for label, table in _value(config, tables.place).items():
            place = (*tables.place, label)
            yield ".".join(place), as_toml(msgspec.to_builtins(table)), _origin(sources, place)


def _value(config: Config, place: tuple[str, ...]) -> Any:
    value: Any = config
    for part in place:
        value = getattr(value, part, None)
    return value


def _origin(sources: Sources, place: tuple[str, ...]) -> str:
    return (sources.origin(place) if sources.has(place) else None) or "default"
