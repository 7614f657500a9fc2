"""The configuration options of commands, built from the configuration keys."""

import argparse
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from leverframe.config import Config, read_config
from leverframe.config.described import Key, keys
from leverframe.config.sources import Sources

#: The groups of options in the help, each with its keys in order.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "network": (
        *("host", "port", "hosts", "proxies", "redirect_port", "modbus_port", "snmp_port"),
        *("tftp_port", "discovery", "mdns"),
    ),
    "controller and storage": (
        *("hw", "sw", "name", "mac", "data", "history_days", "history_max_mb", "recorded"),
    ),
    "time": ("timezone", "virtual_time", "virtual_start"),
    "board": (
        *("board.kind", "board.sysfs", "board.onewire.extra", "board.i2c.bus", "board.oled.bus"),
        *("board.oled.address", "serial_port", "serial_modbus"),
    ),
    "security": (
        *("tls", "tls_certificate", "tls_key", "cors_origins", "trusted", "trusted_role"),
        *("modbus_writers", "allow_local_targets", "ca_file", "mqtt_certificate", "mqtt_key"),
        *("firmware_key", "firmware_check_url", "udp_bootloader"),
    ),
    "tests": ("lenient", "capture"),
    "logs and output": ("log_level", "log_format", "syslog", "json"),
}


def add_config(
    parser: argparse.ArgumentParser, only: Collection[str] | None = None, *, required: bool = False
) -> None:
    """Add `--config` and a flag for every key, or only for the named keys."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        required=required,
        help="TOML file with the configuration; `leverframe config example` prints an example",
    )
    known = {key.name: key for key in keys()}
    if only is not None:
        for name in only:
            _add_flag(parser, known[name])
        return
    for title, names in SECTIONS.items():
        group = parser.add_argument_group(title)
        for name in names:
            _add_flag(group, known[name])


def _add_flag(options: argparse.ArgumentParser | argparse._ArgumentGroup, key: Key) -> None:
    if key.is_switch:
        options.add_argument(
            key.flag, dest=key.name, action=argparse.BooleanOptionalAction, help=_help(key)
        )
    else:
        options.add_argument(key.flag, dest=key.name, metavar=key.metavar, help=_help(key))


def _help(key: Key) -> str:
    default = f" (default {key.usual})" if key.usual else ""
    return (key.description.removesuffix(".") + default).replace("%", "%%")


def config_of(options: argparse.Namespace) -> Config:
    """Read the configuration from the file, the environment and the flags."""
    return read_config(options.config, _flags(options), os.environ)


def sources_of(options: argparse.Namespace) -> Sources:
    return Sources(options.config, os.environ, _flags(options))


def _flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return the configuration keys set by options; other arguments may have the same names."""
    used = options.task.config.keys
    return {name: value for name, value in vars(options).items() if used is None or name in used}


def folder_of(options: argparse.Namespace) -> Path:
    return Path(config_of(options).data)
