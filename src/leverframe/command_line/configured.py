"""The flags by which commands take their configuration, made from the keys themselves."""

import argparse
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from leverframe.config import Config, read_config
from leverframe.config.described import Key, keys
from leverframe.config.sources import Sources


def add_config(
    parser: argparse.ArgumentParser, only: Collection[str] | None = None, *, required: bool = False
) -> None:
    """Add `--config` and a flag for every key, or only for the named keys."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        required=required,
        help="TOML file with the configuration; leverframe config example prints one",
    )
    for key in keys():
        if only is None or key.name in only:
            _add_flag(parser, key)


def _add_flag(parser: argparse.ArgumentParser, key: Key) -> None:
    if key.is_switch:
        parser.add_argument(
            key.flag, dest=key.name, action=argparse.BooleanOptionalAction, help=_help(key)
        )
    else:
        parser.add_argument(key.flag, dest=key.name, metavar=key.metavar, help=_help(key))


def _help(key: Key) -> str:
    default = f" (default {key.usual})" if key.usual else ""
    return (key.description.removesuffix(".") + default).replace("%", "%%")


def config_of(options: argparse.Namespace) -> Config:
    """Read the configuration from the file, the environment and the flags."""
    return read_config(options.config, _flags(options), os.environ)


def sources_of(options: argparse.Namespace) -> Sources:
    return Sources(options.config, os.environ, _flags(options))


def _flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return what flags say of the configuration; other arguments may have names of keys, too."""
    taken = options.task.config.keys
    return {name: value for name, value in vars(options).items() if taken is None or name in taken}


def folder_of(options: argparse.Namespace) -> Path:
    return Path(config_of(options).data)
