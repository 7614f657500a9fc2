"""The command line: `leverframe run`, `simulate`, `commands`, `board`.

Mistakes of the person at the keyboard end in one line that says what to do, never in a trace.
"""

import argparse
import asyncio
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from leverframe import __version__
from leverframe.config import BadConfiguration, Config, read_config
from leverframe.durations import DAY_S, BadDuration, seconds_from_text
from leverframe.engine.tree import UnfitSettings
from leverframe.process.logs import SyslogUnusable
from leverframe.process.logs import set_up as set_up_logs
from leverframe.profile import Profile, UnknownProfile
from leverframe.upkeep.command_line import add_backup, add_data
from leverframe.upkeep.firmware import add_firmware
from leverframe.upkeep.site import add_site

_RUN = """\
Run one controller. It answers the HTTP commands of its version on the given address, keeps its
settings in a data folder, and simulates its board.

  leverframe run                                  http://127.0.0.1:8080/, newest version
  leverframe run --port 8081 --data cellar        a second one, with a memory of its own
  leverframe run --hw 3.0 --sw 1.58a --data old   an older unit
  leverframe run --virtual-time                   time stands still until /sim.cgi?advance=SECONDS
"""
_SIMULATE = """\
Let a controller live through a scenario on virtual time: print what happened and why, and record
readings. The same scenario always gives the same result.

  leverframe simulate examples/greenhouse.toml --for 24h
  leverframe simulate examples/tank.toml --for 7d --csv tank.csv --step 60s
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        result: int = options.command(options)
    except KeyboardInterrupt:
        return 130
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="leverframe",
        description="A networked controller in software.",
        epilog="leverframe COMMAND --help tells more about each command.",
    )
    parser.add_argument("--version", action="version", version=f"leverframe {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_simulate(commands)
    _add_commands(commands)
    _add_passwd(commands)
    _add_board(commands)
    add_site(commands)
    add_firmware(commands)
    add_backup(commands)
    add_data(commands)
    return parser


def _add_run(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    default = Config()
    run = commands.add_parser(
        "run",
        help="run a controller",
        description=_RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("--host", help=f"address to listen on (default {default.host})")
    run.add_argument("--port", type=int, help=f"port, 0 for any (default {default.port})")
    run.add_argument("--data", metavar="DIR", help=f"data folder (default ./{default.data})")
    run.add_argument("--config", metavar="FILE", type=Path, help="TOML file with these settings")
    run.add_argument("--timezone", metavar="ZONE", help="for the schedule, like Europe/Warsaw")
    run.add_argument(
        "--virtual-time",
        action="store_true",
        default=None,
        help="time stands still until /sim.cgi?advance=SECONDS moves it",
    )
    run.add_argument(
        "--lenient",
        action="store_true",
        default=None,
        help="skip bad commands and answer 200, as real units do",
    )
    run.add_argument(
        "--capture",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="keep messages in /api/outbox instead of sending them (default with --virtual-time)",
    )
    run.add_argument(
        "--allow-local-targets",
        action="store_true",
        default=None,
        help="let HTTP1-HTTP4 request this machine and link-local addresses",
    )
    run.add_argument(
        "--ca-file", metavar="FILE", help="further certificate authorities to trust (PEM)"
    )
    run.add_argument(
        "--serial-port", metavar="PATH", help="where the serial module is, like /dev/ttyUSB0"
    )
    run.add_argument(
        "--no-discovery",
        dest="discovery",
        action="store_false",
        default=None,
        help="do not answer UDP discovery in the network",
    )
    run.add_argument(
        "--no-mdns",
        dest="mdns",
        action="store_false",
        default=None,
        help="do not announce the controller by mDNS",
    )
    run.add_argument(
        "--tls",
        action="store_true",
        default=None,
        help="answer by HTTPS only, with a certificate made at the first start",
    )
    run.add_argument("--tls-certificate", metavar="FILE", help="certificate to use instead (PEM)")
    run.add_argument("--tls-key", metavar="FILE", help="its private key (PEM)")
    run.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        help=f"log from this level on (default {default.log_level}); info tells what happens",
    )
    run.add_argument(
        "--log-format",
        choices=("text", "json"),
        help=f"log lines for people or for programs (default {default.log_format})",
    )
    run.add_argument("--syslog", metavar="WHERE", help="log to /dev/log, HOST or HOST:PORT, too")
    run.add_argument(
        "--verbose",
        dest="log_level",
        action="store_const",
        const="debug",
        help="the same as --log-level debug",
    )
    _add_profile(run)
    run.set_defaults(command=_run)


def _add_simulate(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    simulate = commands.add_parser(
        "simulate",
        help="live through a scenario",
        description=_SIMULATE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    simulate.add_argument("scenario", metavar="SCENARIO.toml", type=Path)
    simulate.add_argument(
        "--for",
        dest="for_s",
        metavar="TIME",
        type=_duration,
        default=DAY_S,
        help="how long, like 90s, 1h30m or 7d (default 24h)",
    )
    simulate.add_argument("--csv", metavar="FILE", type=Path, help="record values to this file")
    simulate.add_argument(
        "--step",
        dest="step_s",
        metavar="TIME",
        type=_step,
        help="record at every step instead of at every change",
    )
    simulate.set_defaults(command=_simulate)


def _add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    listing = commands.add_parser("commands", help="list the commands of a version")
    listing.add_argument("word", nargs="?", help="only commands that contain this word")
    _add_profile(listing)
    listing.set_defaults(command=_list_commands)


def _add_board(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    board = commands.add_parser("board", help="check the hardware of this machine")
    board.add_argument(
        "task", choices=["check"], help="say which wired devices are there and which are missing"
    )
    board.add_argument(
        "--config", metavar="FILE", type=Path, required=True, help="TOML file with [board]"
    )
    board.set_defaults(command=_check_board)


def _add_passwd(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    passwd = commands.add_parser(
        "passwd",
        help="set a password while the controller is stopped",
        description="Set the password of an account; sign-in is required from then on. The "
        "password is asked for, or read from standard input. The controller must be stopped.",
    )
    passwd.add_argument("account", nargs="?", help="its name (default: the administrator)")
    passwd.add_argument("--generate", action="store_true", help="make a random password, show it")
    passwd.add_argument("--data", metavar="DIR", help=f"data folder (default ./{Config().data})")
    passwd.add_argument("--config", metavar="FILE", type=Path, help="TOML file of the controller")
    passwd.set_defaults(command=_passwd)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    newest = Profile()
    parser.add_argument("--hw", help=f"hardware version, 3.0 to 3.9 (new: {newest.hw})")
    parser.add_argument("--sw", help=f"software version, like 1.49d (new: {newest.sw})")


def _run(options: argparse.Namespace) -> int:
    # Imported here: `leverframe commands` needs no server.
    from leverframe.process.serve import CannotListen, serve
    from leverframe.servers.http.certificate import CertificateUnusable
    from leverframe.storage.datafolder import FolderInUse, FolderUnusable
    from leverframe.storage.sealed import KeyUnusable
    from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew
    from leverframe.storage.store import StoreUnavailable

    names = (
        *("host", "port", "data", "hw", "sw", "timezone", "virtual_time", "lenient"),
        *(
            "tls",
            "tls_certificate",
            "tls_key",
            "serial_port",
            "discovery",
            "mdns",
            "capture",
            "allow_local_targets",
            "ca_file",
            "log_level",
            "log_format",
            "syslog",
        ),
    )
    try:
        config = read_config(options.config, {name: getattr(options, name) for name in names})
        set_up_logs(config.log_level, config.log_format, config.syslog)
        _run_loop(serve(config))
    except (
        BadConfiguration,
        CannotListen,
        CertificateUnusable,
        FolderInUse,
        FolderUnusable,
        KeyUnusable,
        StoreDamaged,
        StoreTooNew,
        StoreUnavailable,
        SyslogUnusable,
        UnfitSettings,
    ) as error:
        print(f"leverframe: {error}", file=sys.stderr)
        return 1
    return 0


def _passwd(options: argparse.Namespace) -> int:
    from leverframe.passwd_command import change_password
    from leverframe.process.administrator import PasswordRefused
    from leverframe.storage.datafolder import FolderInUse, FolderUnusable
    from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew
    from leverframe.storage.store import StoreUnavailable

    try:
        config = read_config(options.config, {"data": options.data})
        asyncio.run(change_password(config, options.account, generate=options.generate))
    except (
        BadConfiguration,
        FolderInUse,
        FolderUnusable,
        PasswordRefused,
        StoreDamaged,
        StoreTooNew,
        StoreUnavailable,
        UnfitSettings,
    ) as error:
        print(f"leverframe: {error}", file=sys.stderr)
        return 1
    return 0


def _run_loop(main_task: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main_task)
    else:
        uvloop.run(main_task)


def _duration(text: str) -> float:
    try:
        return seconds_from_text(text)
    except BadDuration as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _step(text: str) -> float:
    seconds = _duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError("A step takes time; write it like 60s.")
    return seconds


def _simulate(options: argparse.Namespace) -> int:
    from leverframe.simulation.command_line import simulate
    from leverframe.simulation.scenario import BadScenario

    try:
        asyncio.run(simulate(options.scenario, options.for_s, options.csv, options.step_s))
    except BadScenario as error:
        print(f"leverframe: {error}", file=sys.stderr)
        return 1
    return 0


def _list_commands(options: argparse.Namespace) -> int:
    from rich.console import Console

    from leverframe.reference.terminal import print_commands

    newest = Profile()
    try:
        profile = Profile(options.hw or newest.hw, options.sw or newest.sw)
    except UnknownProfile as error:
        print(f"leverframe: {error}", file=sys.stderr)
        return 1
    print_commands(profile, options.word, Console())
    return 0


def _check_board(options: argparse.Namespace) -> int:
    from rich.console import Console

    from leverframe.board_check import check_board

    try:
        config = read_config(options.config, {})
    except BadConfiguration as error:
        print(f"leverframe: {error}", file=sys.stderr)
        return 1
    named = {"serial_port": config.serial_port, "serial_modbus": config.serial_modbus}
    ports = {name: path for name, path in named.items() if path is not None}
    return check_board(config.board, ports, Console())


if __name__ == "__main__":
    sys.exit(main())
