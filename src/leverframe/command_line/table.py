"""Every command of the program as data: its arguments, its words of help, and who does the work.

The parameters of a function are the arguments of its task, by name. Three are made for it: `config`
is the whole configuration, `sources` what it was read from, and `data_folder` the folder it names.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from leverframe.durations import DAY_S, BadDuration, seconds_from_text
from leverframe.profile import HARDWARE, Profile

#: Keys of the configuration that a task takes as options: all, some, or only the file.
ALL_KEYS = None
ONLY_FILE: tuple[str, ...] = ()
DATA = ("data",)

_NEWEST = Profile()


class Argument(NamedTuple):
    """One argument, as argparse takes it."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def argument(*names: str, **settings: Any) -> Argument:
    return Argument(names, MappingProxyType(settings))


class Task(NamedTuple):
    """Something that the program does when it is told to."""

    name: str
    #: `package.module:function` below `leverframe`. It may return an exit code.
    function: str
    #: What it does, in half a sentence.
    help: str
    arguments: tuple[Argument, ...] = ()
    description: str = ""
    #: Whether it takes a configuration, and which keys as options.
    takes_config: bool = False
    config_keys: tuple[str, ...] | None = ALL_KEYS
    config_required: bool = False


class Group(NamedTuple):
    """A command that consists of tasks, such as `backup show`."""

    name: str
    help: str
    description: str
    tasks: tuple[Task, ...]


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


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("Write a whole number such as 1.")
    return int(text)


def _at_least_one(text: str) -> int:
    if _count(text) < 1:
        raise argparse.ArgumentTypeError("At least one unit at a time.")
    return _count(text)


_PASSPHRASE = argument(
    "--passphrase",
    action="store_true",
    help="take the sealed passwords along; the passphrase is asked for",
)
_IMAGE = argument("image", metavar="IMAGE", type=Path)

RUN = Task(
    "run",
    "process.run:run",
    "run a controller",
    (
        argument(
            "--verbose",
            dest="log_level",
            action="store_const",
            const="debug",
            help="the same as --log-level debug",
        ),
    ),
    """\
Run one controller. It answers the HTTP commands of its version on the given address, keeps its
settings in a data folder, and simulates its board unless told otherwise.

  leverframe run                                  http://127.0.0.1:8080/, newest version
  leverframe run --port 8081 --data cellar        a second one, with a memory of its own
  leverframe run --config cellar.toml             the same, told by a file
  leverframe run --hw 3.0 --sw 1.58a --data old   an older unit
  leverframe run --virtual-time                   time stands still until /sim.cgi?advance=SECONDS

Every option is also a key of the file (--virtual-time: virtual_time = true) and an environment
variable (LEVERFRAME_VIRTUAL_TIME=true). Options win over variables, variables over the file.
""",
    takes_config=True,
)

SIMULATE = Task(
    "simulate",
    "simulation.simulate:simulate",
    "run a scenario on virtual time",
    (
        argument("scenario", metavar="SCENARIO.toml", type=Path),
        argument(
            "--for",
            dest="for_s",
            metavar="TIME",
            type=_duration,
            default=DAY_S,
            help="how long, like 90s, 1h30m or 7d (default 24h)",
        ),
        argument("--csv", metavar="FILE", type=Path, help="record values to this file"),
        argument(
            "--step",
            dest="step_s",
            metavar="TIME",
            type=_step,
            help="record at every step instead of at every change",
        ),
    ),
    """\
Run a controller through a scenario on virtual time: print what happened and why, and record
readings. The same scenario always gives the same result.

  leverframe simulate examples/greenhouse.toml --for 24h
  leverframe simulate examples/tank.toml --for 7d --csv tank.csv --step 60s
""",
)

WHAT_IF = Task(
    "what-if",
    "simulation.what_if:compare_futures",
    "show what commands would change in the coming hours",
    (
        argument(
            "--commands",
            metavar="FILE",
            type=Path,
            required=True,
            help="the commands to try, one in a line, like /outs.cgi?out0=1",
        ),
        argument(
            "--for",
            dest="for_s",
            metavar="TIME",
            type=_step,
            default=DAY_S,
            help="how far to look ahead, like 12h or 7d (default 24h)",
        ),
        argument(
            "--plants",
            dest="scenario",
            metavar="SCENARIO.toml",
            type=Path,
            help="let the plants of this scenario give their readings",
        ),
        argument("--json", action="store_true", help="print one JSON object"),
    ),
    """\
Copy a controller that is stopped twice, carry out commands on one copy, let both live ahead on
virtual time, and show what differs between their journals. Nothing is changed. The readings of the
last hours come again, as they were recorded.

  leverframe what-if --data cellar --commands change.txt --for 24h
  leverframe what-if --data cellar --commands change.txt --for 7d --plants greenhouse.toml

The exit code is 0 where nothing differs and 1 where something does. For a controller that runs
there is /api/what-if.
""",
    takes_config=True,
    config_keys=("data", "timezone"),
)

_CA_FILE = argument(
    "--ca-file", metavar="FILE", help="further certificate authorities to trust (PEM)"
)
_AS_JSON = argument(
    "--json", dest="as_json", action="store_true", help="tell scripts, one JSON object a line"
)

RECORD = Task(
    "record",
    "recording.record:record",
    "record what a client and a unit say to each other",
    (
        argument("unit", metavar="URL", help="the unit, like http://192.168.1.10"),
        argument("--out", metavar="FILE", type=Path, required=True, help="the new recording"),
        argument(
            "--port",
            type=int,
            default=0,
            metavar="PORT",
            help="the loopback port to listen on (default: any that is free)",
        ),
        _CA_FILE,
        _AS_JSON,
    ),
    """\
Stand between a client and a unit, real or a twin, and write every exchange down, one JSON object a
line. The first line that is printed tells the loopback address that the client has to use instead
of the unit's. Passwords, logins, cookies and other secrets are masked before anything is written.

  leverframe record http://192.168.1.10 --out session.jsonl
  leverframe replay session.jsonl --against http://127.0.0.1:8080
  leverframe run --recorded session.jsonl     answers what the version does not know as recorded
""",
)

REPLAY = Task(
    "replay",
    "recording.replay:replay",
    "send a recording to another unit and tell what is different; ends with 1 if anything is",
    (
        argument("recording", metavar="RECORDING", type=Path, help="made by leverframe record"),
        argument(
            "--against", metavar="URL", required=True, help="the unit, like http://127.0.0.1:8080"
        ),
        argument(
            "--exclude",
            metavar="KEY,KEY",
            action="append",
            default=[],
            help="keys that do not count, besides time, uptime, mac, sname and ports",
        ),
        argument(
            "--strict",
            action="store_true",
            help="count also what always differs, such as time and mac",
        ),
        argument(
            "--tolerance",
            metavar="NUMBER",
            default="0",
            help="how far numbers may be apart, like 0.5 or 2%% (default 0)",
        ),
        argument(
            "--pace",
            choices=("fast", "recorded", "virtual"),
            default="fast",
            help="fast, with the recorded pauses, or moving the virtual time of a twin by them "
            "(default fast)",
        ),
        argument(
            "--user",
            metavar="NAME",
            help="sign in where the recorded client did; the password is asked for",
        ),
        _CA_FILE,
        _AS_JSON,
    ),
    """\
Send the requests of a recording to a unit, real or a twin, and compare the answers by what they
mean: keys of JSON and XML in any order, numbers within a tolerance. Keys that always differ, such
as time, uptime and mac, are named and not counted. Requests whose secrets were masked are not sent.

  leverframe replay session.jsonl --against http://127.0.0.1:8080
  leverframe replay session.jsonl --against http://192.168.1.11 --tolerance 2% --exclude vin,temp
  leverframe replay session.jsonl --against http://127.0.0.1:8080 --pace virtual
""",
)

LIST_COMMANDS = Task(
    "commands",
    "reference.terminal:list_commands",
    "list the HTTP commands of a version",
    (
        argument("word", nargs="?", help="only commands that contain this word"),
        argument(
            "--hw",
            metavar="VERSION",
            default=_NEWEST.hw,
            help=f"hardware version, 3.0 to 3.9 (default {_NEWEST.hw})",
        ),
        argument(
            "--sw",
            metavar="VERSION",
            help="software version, like 1.49d (default the newest of the hardware)",
        ),
    ),
)

PASSWD = Task(
    "passwd",
    "maintenance.passwd:change_password",
    "set a password while the controller is stopped",
    (
        argument("account", nargs="?", help="its name (default: the administrator)"),
        argument("--generate", action="store_true", help="make a random password and show it"),
    ),
    """\
Set the password of an account; sign-in is required from then on. The password is asked for, or read
from standard input. The controller must be stopped.
""",
    takes_config=True,
    config_keys=DATA,
)

CONFIG = Group(
    "config",
    "check a configuration, or print one",
    """\
The configuration of a controller: a TOML file, environment variables over it, options over both.

  leverframe config example > cellar.toml       every key with its default and meaning
  leverframe config check --config cellar.toml  the effective settings and where each comes from
""",
    (
        Task(
            "check",
            "maintenance.config:check_config",
            "print the effective settings and where each comes from, or what is wrong",
            takes_config=True,
        ),
        Task("example", "maintenance.config:print_example", "print a complete file with every key"),
    ),
)

BOARD = Group(
    "board",
    "check the hardware of this machine",
    """\
Try what the service will do with the hardware of this machine. Nothing is driven.

  leverframe board check --config cellar.toml
  sudo leverframe board check --config /etc/leverframe/cellar.toml     as its service will run
  sudo leverframe board check --config cellar.toml --account gatekeeper
""",
    (
        Task(
            "check",
            "maintenance.board:check_board",
            "say which wired devices can be used, and what keeps the others",
            (
                argument(
                    "--account",
                    metavar="NAME",
                    help="try with the rights of this account (default: those of the systemd unit"
                    " of this file, if root asks and there is one)",
                ),
            ),
            takes_config=True,
            config_keys=ONLY_FILE,
            config_required=True,
        ),
    ),
)

SITE = Group(
    "site",
    "make a web site archive, or remove an uploaded one",
    """\
A web site of your own instead of the built-in pages.

  leverframe site build my-pages --output my.site   check a folder and pack it
  curl --data-binary @my.site 'http://127.0.0.1:8080/post.cgi?wwwfileupload'
  leverframe site reset --data data                 back to the built-in pages
""",
    (
        Task(
            "build",
            "maintenance.site:build_site",
            "pack a folder of pages",
            (
                argument("pages", metavar="FOLDER", type=Path, help="has an index.html"),
                argument(
                    "--output", metavar="FILE", type=Path, help="where to (default FOLDER.site)"
                ),
            ),
        ),
        Task(
            "reset",
            "maintenance.site:reset_site",
            "remove the uploaded site of a stopped controller",
            takes_config=True,
            config_keys=DATA,
        ),
    ),
)

FIRMWARE = Group(
    "firmware",
    "make, sign and show firmware images",
    """\
Another software version for a controller, sent by TFTP while its bootloader waits.

  leverframe firmware keygen owner                       makes owner.key and owner.pub
  leverframe firmware build --hw 3.9 --sw 1.60a new.img  perhaps with --site my.site
  leverframe firmware sign new.img --key owner.key
  leverframe firmware show new.img --key owner.pub       what it is, and whether it is signed

  firmware_key = "owner.pub"   in the configuration of the controller, then
  curl 'http://127.0.0.1:8080/stm.cgi?upgrade=devstart3'
  tftp -m binary 127.0.0.1 1069 -c put new.img
""",
    (
        Task(
            "keygen",
            "maintenance.firmware:make_keys",
            "make a pair of keys",
            (argument("name", metavar="NAME", help="makes NAME.key, to be kept, and NAME.pub"),),
        ),
        Task(
            "build",
            "maintenance.firmware:build",
            "make an image",
            (
                _IMAGE,
                argument(
                    "--hw",
                    action="append",
                    required=True,
                    choices=HARDWARE,
                    help="may be given several times",
                ),
                argument("--sw", required=True, help="software version, like 1.49d"),
                argument("--site", metavar="FILE", type=Path, help="made by leverframe site build"),
            ),
        ),
        Task(
            "sign",
            "maintenance.firmware:sign",
            "sign an image, in place",
            (
                _IMAGE,
                argument("--key", metavar="FILE", type=Path, required=True, help="the private key"),
            ),
        ),
        Task(
            "show",
            "maintenance.firmware:show",
            "say what an image holds",
            (
                _IMAGE,
                argument("--key", metavar="FILE", type=Path, help="public key to check it with"),
            ),
        ),
    ),
)

BACKUP = Group(
    "backup",
    "show, compare, convert or restore backups",
    """\
Look at a settings backup, compare two, write one in another form or for another version, or put one
into the data folder of a controller that is stopped. A backup is a .bin file as a controller gives
it, or the same as readable .toml or .json.

  leverframe backup show cellar.bin
  leverframe backup diff monday.bin tuesday.bin
  leverframe backup convert cellar.bin cellar.toml
  leverframe backup convert old.bin new.bin --hw 3.9 --sw 1.75
  leverframe backup restore cellar.toml --data cellar
""",
    (
        Task(
            "show",
            "maintenance.backup:show",
            "print a backup",
            (
                argument("file", type=Path),
                argument("--json", action="store_true", help="as JSON instead of TOML"),
            ),
        ),
        Task(
            "diff",
            "maintenance.backup:diff",
            "print what differs; ends with 1 if anything does",
            (argument("first", type=Path), argument("second", type=Path)),
        ),
        Task(
            "convert",
            "maintenance.backup:convert",
            "write a backup in another form or version",
            (
                argument("file", type=Path),
                argument("output", type=Path, help="ends with .bin, .toml or .json"),
                argument("--hw", metavar="VERSION", help="hardware version to convert to"),
                argument("--sw", metavar="VERSION", help="software version to convert to"),
                _PASSPHRASE,
            ),
        ),
        Task(
            "restore",
            "maintenance.backup:restore",
            "restore into a data folder",
            (argument("file", type=Path), _PASSPHRASE),
            takes_config=True,
            config_keys=DATA,
        ),
    ),
)

DATA_FOLDER = Group(
    "data",
    "check, repair, show, export or reset a data folder",
    """\
Look after the data folder of a controller that is stopped.

  leverframe data check                 are store, snapshots and history sound?
  leverframe data repair                put a damaged store or history right
  leverframe data show > all.json       everything in the store but secrets
  leverframe data export -o all.csv     the history of all readings and states
  leverframe data reset --accounts      factory settings, accounts too
""",
    (
        Task(
            "check",
            "maintenance.data:check_data",
            "say whether store, snapshots and history are sound; ends with 1 if not",
            takes_config=True,
            config_keys=DATA,
        ),
        Task(
            "repair",
            "maintenance.data:repair_data",
            "put a damaged store or history right",
            takes_config=True,
            config_keys=DATA,
        ),
        Task(
            "show",
            "maintenance.data:show_data",
            "print everything in the store as JSON, secrets masked",
            takes_config=True,
            config_keys=DATA,
        ),
        Task(
            "export",
            "maintenance.history_export:export_history",
            "write the history as CSV",
            (
                argument("--labels", metavar="LABELS", help="like DS1,OUT0 (default: all)"),
                argument(
                    "--from", dest="first", metavar="TIME", help="like 2026-01-05T12:00, in UTC"
                ),
                argument("--to", dest="last", metavar="TIME", help="until then (default: the end)"),
                argument("-o", "--output", metavar="FILE", type=Path, help="write to this file"),
            ),
            takes_config=True,
            config_keys=DATA,
        ),
        Task(
            "reset",
            "maintenance.data:reset_data",
            "go back to the factory settings",
            (argument("--accounts", action="store_true", help="reset the accounts, too"),),
            takes_config=True,
            config_keys=DATA,
        ),
    ),
)

_UNIT_USER = argument(
    "--user", metavar="NAME", help="sign in with this account; the password is asked for"
)

_UNIT_PULL = Task(
    "pull",
    "units.pull:pull",
    "read the settings of a unit, and say what it does not tell",
    (
        argument("unit", metavar="URL", help="the unit, like http://192.168.1.10"),
        argument(
            "--out",
            metavar="FILE",
            type=Path,
            help="a unit file (.toml), or a new backup as JSON (.json)",
        ),
        _UNIT_USER,
        _CA_FILE,
        _AS_JSON,
    ),
    """\
Read the settings of a unit and list what could not be read. Leverframe tells all of them but its
secrets. A real unit shows what its status files have: names, outputs, inputs, sensors, rules and
the schedule, but not messages, SNMP or the watchdog. Nothing is changed on the unit.

  leverframe unit pull http://192.168.1.10
  leverframe unit pull http://192.168.1.10 --out north.toml --user admin
""",
)
_UNIT_CHECK = Task(
    "check",
    "units.check:check",
    "say what is wrong in unit files and inventories, with the line",
    (argument("files", metavar="FILE", type=Path, nargs="+", help="such as north.toml"),),
    """\
Check unit files, with what they include, and inventories, with the files of their units, against
the versions that they name. Nothing is sent, and no secret is needed.

  leverframe unit check units.toml

The exit code is 0 where nothing is wrong and 1 where something is.
""",
)
_UNIT_SCHEMA = Task(
    "schema",
    "units.check:schema",
    "print the JSON Schema of unit files, for editors",
    (
        argument(
            "--hw",
            metavar="VERSION",
            default=_NEWEST.hw,
            help=f"hardware version, 3.0 to 3.9 (default {_NEWEST.hw})",
        ),
        argument(
            "--sw",
            metavar="VERSION",
            help="software version, like 1.49d (default the newest of the hardware)",
        ),
    ),
)

_UNIT_FIND = Task(
    "find",
    "units.find:find_units",
    "list the units in the network, or at the addresses that are named",
    (
        argument(
            "addresses",
            metavar="ADDRESS",
            nargs="*",
            help="like 192.168.1.10, 192.168.1.10-40, 192.168.1.0/27 or http://192.168.1.10:8080",
        ),
        _UNIT_USER,
        argument(
            "--listen",
            dest="listen_s",
            metavar="TIME",
            type=_step,
            default=3.0,
            help="how long to listen for answers (default 3s)",
        ),
        argument("--quick", action="store_true", help="leave out the digest of the settings"),
        _CA_FILE,
        _AS_JSON,
    ),
    """\
List units with address, name, MAC address, versions, a digest of their settings, and whether they
ask for a login. Without an address the question of the maker is broadcast by UDP, which units from
HW 3.5+ SW 1.26 on answer, and controllers that announce themselves by mDNS are heard. With
addresses these alone are asked, by HTTP, at most 20 in a second and 1024 in all.

  leverframe unit find
  leverframe unit find 192.168.1.10-40 --json

The exit code is 0 where units were found and 1 where none was.
""",
)
_UNIT_WATCH = Task(
    "watch",
    "units.watch:watch",
    "look at the units of an inventory now and then, and tell what is wrong",
    (
        argument("inventory", metavar="UNITS.toml", type=Path, help="the inventory"),
        argument(
            "--port",
            type=int,
            default=8090,
            metavar="PORT",
            help="its port (default 8090)",
        ),
        argument("--once", action="store_true", help="look at each unit once, and tell how it is"),
        _CA_FILE,
        _AS_JSON,
    ),
    """\
Look at every unit of an inventory, until stopped. A page with all units, /metrics for Prometheus,
/api/units, /api/state?unit=NAME and /api/history?unit=NAME are served on a loopback address, or
elsewhere with a password. Units that do not answer, restart, lose sensors, answer nonsense or are
not as their file wants them are told on the page, and by the channels of the table [watch].

  leverframe unit watch units.toml --port 8090
  leverframe unit watch units.toml --once

With --once each unit is looked at and read once, nothing is served, kept or sent, and the exit code
is 0 where all units are as they should be and 1 where one is not.
""",
)

_UNIT_DIFF = Task(
    "diff",
    "units.diff:diff",
    "say what differs between two units by what it means; ends with 1 if anything does",
    (
        argument("first", metavar="A", help="an address, unit file, backup, folder or recording"),
        argument("second", metavar="B", help="what it is compared with, of any of these kinds"),
        _UNIT_USER,
        _CA_FILE,
        argument("--json", dest="as_json", action="store_true", help="print one JSON object"),
    ),
    """\
Compare two units, of the same version or of two, and print only what differs, in words. A side is
the address of a unit, a unit file (.toml), a backup (.bin, .json, .toml), the data folder of a
controller that is stopped, or a recording with status files (.jsonl). A unit file is compared in
what it speaks about. What a version cannot hold, and what a side cannot tell, is said.

  leverframe unit diff http://192.168.1.10 north.toml
  leverframe unit diff monday.bin http://192.168.1.10

The exit code is 0 where both are the same, as far as both can tell, and 1 where something differs.
""",
)
_UNITS = argument(
    "units",
    metavar="UNIT",
    nargs="*",
    help="addresses, or names of the inventory (default all of its units)",
)
_UNIT_INVENTORY = argument(
    "--inventory",
    metavar="FILE",
    type=Path,
    help="take names, logins and groups of units from this inventory",
)
_UNIT_GROUP = argument("--group", metavar="NAME", help="only the units of this group")
_UNIT_YES = argument("--yes", action="store_true", help="send it without asking")

_UNIT_PLAN = Task(
    "plan",
    "units.plan:plan_units",
    "show which commands make units what a file says",
    (
        argument("file", metavar="FILE", type=Path, help="a unit file, or an inventory"),
        _UNITS,
        _UNIT_INVENTORY,
        _UNIT_GROUP,
        _UNIT_USER,
        _CA_FILE,
        argument("--curl", action="store_true", help="print the commands for curl"),
        _AS_JSON,
        argument("--out", metavar="PLAN.json", type=Path, help="write the plan for `unit apply`"),
        argument(
            "--plants",
            dest="scenario",
            metavar="SCENARIO.toml",
            type=Path,
            help="what if: compare the time ahead with and without the plan, on these plants",
        ),
        argument(
            "--readings",
            metavar="FOLDER",
            type=Path,
            help="what if: the same, with the readings that a data folder recorded",
        ),
        argument(
            "--for",
            dest="for_s",
            metavar="TIME",
            type=_step,
            default=DAY_S,
            help="how far what-if looks ahead (default 24h)",
        ),
    ),
    """\
Read units and plan the commands that lead them to what a unit file says, in a safe order: rules
that change are disabled first, no output is switched, accounts come last. The plan is carried out
on a twin of the unit's version first; one that does not lead there is not shown. Nothing is sent to
the unit.

  leverframe unit plan north.toml http://192.168.1.10
  leverframe unit plan units.toml --group greenhouses --out plan.json

A plan file may hold passwords and is for its owner alone; what is printed has none. The exit code
is 0 where everything is reached, 1 where something that is wanted is not, and 2 where there is no
plan for a unit.
""",
)
_UNIT_APPLY = Task(
    "apply",
    "units.apply:apply_plans",
    "carry plans out on units, and read every step back",
    (
        argument(
            "file",
            metavar="PLAN",
            type=Path,
            nargs="?",
            help="a plan of `unit plan --out`, a unit file, or an inventory",
        ),
        _UNITS,
        _UNIT_INVENTORY,
        _UNIT_GROUP,
        _UNIT_USER,
        _CA_FILE,
        _UNIT_YES,
        argument(
            "--canary",
            metavar="N",
            type=_count,
            default=0,
            help="try it on so many units first, and go on only if all went well",
        ),
        argument(
            "--batch",
            metavar="N",
            type=_at_least_one,
            default=1,
            help="so many units at a time after that (default 1)",
        ),
        argument(
            "--journal",
            metavar="FOLDER",
            type=Path,
            default=Path("unit-journal"),
            help="where a journal is kept for each unit (default unit-journal)",
        ),
        argument(
            "--resume", action="store_true", help="go on with what was interrupted, by the journal"
        ),
    ),
    """\
Show plans, ask, and send their commands, each once. What can be read back is read back after each
step, and the work stops at the first difference. A unit that has changed since its plan was made is
refused.

  leverframe unit apply plan.json
  leverframe unit apply units.toml --canary 1 --batch 5
  leverframe unit apply --resume
  leverframe unit rollback unit-journal/north-20260314T101500.000000Z.jsonl

The exit code is 0 where all is done, 1 where not everything was begun because somebody said no, and
2 where it stopped.
""",
)
_UNIT_ROLLBACK = Task(
    "rollback",
    "units.apply:roll_back",
    "bring a unit back to what it was before a change",
    (
        argument("journal", metavar="JOURNAL", type=Path, help="the journal of the change"),
        _UNIT_INVENTORY,
        _UNIT_USER,
        _CA_FILE,
        _UNIT_YES,
    ),
    """\
Plan the way back from what a unit is to what it was when the journal began, prove it on a twin,
show it, ask, and carry it out as `unit apply` does. What could not be read then, such as passwords,
cannot be had back and is listed.
""",
)

_UNIT_TAKE_OVER = Task(
    "take-over",
    "units.take_over:take_over",
    "make a controller that takes the place of a unit",
    (
        argument("unit", metavar="URL", help="the unit, like http://192.168.1.10"),
        argument("--data", metavar="DIR", type=Path, required=True, help="its new data folder"),
        argument(
            "--config-out",
            metavar="FILE",
            type=Path,
            required=True,
            help="its new configuration, for leverframe run --config",
        ),
        argument("--host", metavar="ADDRESS", default="127.0.0.1", help="address it listens on"),
        argument("--port", type=int, metavar="PORT", help="its port (default: that of the unit)"),
        argument(
            "--file",
            metavar="FILE",
            type=Path,
            help="unit file with what the unit does not show: accounts, passwords, messages",
        ),
        _UNIT_USER,
        _CA_FILE,
    ),
    """\
Read a unit and make a controller in software with its settings, name, MAC address, version, meters
and the account that was used to sign in. What the unit does not show, such as its other accounts,
comes from a unit file, and what neither tells is listed. The unit is only read; nothing is changed
there.

  leverframe unit take-over http://192.168.1.10 --data cellar --config-out cellar.toml
  leverframe run --config cellar.toml
""",
)

_UNIT_GIVE_BACK = Task(
    "give-back",
    "units.give_back:give_back",
    "plan what brings the changes of a controller back to the unit whose place it took",
    (
        argument("--data", metavar="DIR", type=Path, required=True, help="its data folder"),
        argument("--to", metavar="URL", help="the unit (default: the one that was taken over)"),
        argument("--out", metavar="FILE", type=Path, help="write the plan, for unit apply"),
        _UNIT_USER,
        _CA_FILE,
    ),
    """\
Compare a controller that was made by `unit take-over`, and is stopped, with what it began with, and
plan the same changes for the unit: proven on a twin, and nothing is sent. What was not changed on
the controller stays as it is on the unit. Accounts stay as they are.

  leverframe unit give-back --data cellar --out back.json
  leverframe unit apply back.json

The exit code is 0 where the plan reaches everything and 1 where it does not.
""",
)

UNIT = Group(
    "unit",
    "read, compare, change and watch units in the field",
    """\
Units in the field, real ones and Leverframe. A unit is named by its address, like
http://192.168.1.10. It is asked politely: one request at a time, at most 4 in a second.
""",
    (
        _UNIT_FIND,
        _UNIT_PULL,
        _UNIT_DIFF,
        _UNIT_CHECK,
        _UNIT_SCHEMA,
        _UNIT_PLAN,
        _UNIT_APPLY,
        _UNIT_ROLLBACK,
        _UNIT_WATCH,
        _UNIT_TAKE_OVER,
        _UNIT_GIVE_BACK,
    ),
)

_NODE = (
    argument(
        "--node",
        metavar="URL",
        default="http://127.0.0.1:8080",
        help="where the node answers (default http://127.0.0.1:8080)",
    ),
    argument("--user", metavar="NAME", help="sign in; the password is asked for"),
    _CA_FILE,
)
_NODE_JSON = (*_NODE, _AS_JSON)
_MEMBER = argument("name", metavar="NAME")
_MEMBERS = argument("names", metavar="NAME", nargs="*", help="controllers (default: all)")
_TAG = argument(
    "--tag",
    action="append",
    default=[],
    metavar="TAG",
    help="only those that have this tag; may be given several times",
)
_NEW_TAG = argument(
    "--tag", action="append", default=[], metavar="TAG", help="a tag for them; likewise again"
)
_MADE_NAME = "a name, with {n} or {n:03} for the number"

FLEET = Group(
    "fleet",
    "run many controllers in one process, and what is done to them together",
    """\
Many controllers in one process, a node: each has a name, at which it answers (NAME.localhost), and
may have an address of 127.0.0.0/8 or a port of its own. What concerns many ends with 1 where some
of them refuse it, and tells which and why.

  leverframe fleet run --virtual-time                          an empty node on port 8080
  leverframe fleet add --count 1000 --template greenhouse.toml --name 'gh-{n}' --tag north
  leverframe fleet send 'outs.cgi?out0=1' --tag north --dry-run
  leverframe fleet advance 1h
  leverframe fleet list --json
""",
    (
        Task(
            "run",
            "fleet.serve:run_fleet",
            "run a node with the controllers of a file and those that were added",
            description="""\
Run a node. The file has keys of `leverframe run` that concern all controllers, and each controller
as a [[controllers]] table: name, tags, hw, sw, settings (a backup to begin with), address, port,
board. A mistake in one of them is told with its name and line, and the others start. Those that
were added before start, too: all are kept in one file of the data folder.
""",
            takes_config=True,
            config_keys=(
                *("host", "port", "hosts", "tls", "tls_certificate", "tls_key", "data"),
                *("timezone", "virtual_time", "virtual_start", "lenient", "capture"),
                *("modbus_port", "snmp_port", "discovery", "json", "log_level", "log_format"),
            ),
        ),
        Task(
            "simulate",
            "fleet.fleet_scenario:simulate_fleet",
            "live through a fleet file with [[at]] tables, on virtual time; ends with 1 if one"
            " refuses something",
            (
                argument(
                    "--for",
                    dest="for_s",
                    metavar="TIME",
                    type=_duration,
                    default=DAY_S,
                    help="how long, like 90s, 1h30m or 7d (default 24h)",
                ),
                _AS_JSON,
            ),
            """\
Live through a fleet file in which [[at]] tables say what happens when, and to whom: time, name or
tag, sim, commands. Nothing listens, and nothing is kept. The digest at the end is the same in every
run in which the same happened.
""",
            takes_config=True,
            config_keys=ONLY_FILE,
            config_required=True,
        ),
        Task(
            "add",
            "fleet.commands:add_controllers",
            "make controllers",
            (
                argument("--name", metavar="NAME", required=True, help=_MADE_NAME),
                argument("--count", type=int, default=1, metavar="NUMBER", help="how many"),
                argument(
                    "--first",
                    type=int,
                    default=1,
                    metavar="NUMBER",
                    help="the number of the first (default 1)",
                ),
                argument(
                    "--template", metavar="FILE", type=Path, help="a backup that they begin with"
                ),
                argument("--hw", metavar="VERSION", help="hardware version"),
                argument("--sw", metavar="VERSION", help="software version"),
                _NEW_TAG,
                argument(
                    "--address",
                    metavar="ADDRESS",
                    help="an address for the first; the others have the next ones",
                ),
                argument(
                    "--port",
                    type=int,
                    metavar="PORT",
                    help="a port for the first; the others have the next ones",
                ),
                argument("--dry-run", action="store_true", help="only say whether it can be done"),
                *_NODE_JSON,
            ),
        ),
        Task(
            "list",
            "fleet.commands:list_controllers",
            "list controllers with version, tags, health and address",
            (_MEMBERS, _TAG, *_NODE_JSON),
        ),
        Task(
            "show",
            "fleet.commands:show_controller",
            "show a controller and its settings",
            (_MEMBER, *_NODE_JSON),
        ),
        Task(
            "remove",
            "fleet.commands:remove_controllers",
            "remove controllers with all that is stored of them",
            (
                argument("names", metavar="NAME", nargs="*", help="controllers"),
                _TAG,
                *_NODE_JSON,
            ),
        ),
        Task(
            "rename",
            "fleet.commands:rename_controller",
            "give a controller another name",
            (_MEMBER, argument("to", metavar="NEW_NAME"), *_NODE_JSON),
        ),
        Task(
            "tag",
            "fleet.commands:tag_controllers",
            "give tags to controllers, or take them away",
            (
                _MEMBERS,
                _TAG,
                argument(
                    "--add", action="append", default=[], metavar="TAG", help="give them this tag"
                ),
                argument(
                    "--remove",
                    action="append",
                    default=[],
                    metavar="TAG",
                    help="take this tag from them",
                ),
                *_NODE_JSON,
            ),
        ),
        Task(
            "send",
            "fleet.commands:send_command",
            "carry out a command on many controllers; ends with 1 if some refuse it",
            (
                argument(
                    "command",
                    metavar="COMMAND",
                    help="like 'outs.cgi?out0=1'; a body stands behind a space",
                ),
                _MEMBERS,
                _TAG,
                argument(
                    "--dry-run", action="store_true", help="change nothing; say who would refuse it"
                ),
                argument(
                    "--all-or-none",
                    action="store_true",
                    help="change nothing if one of them refuses it",
                ),
                *_NODE_JSON,
            ),
        ),
        Task(
            "advance",
            "fleet.commands:advance_time",
            "move the virtual time of all controllers together",
            (
                argument("duration", nargs="?", metavar="TIME", help="like 90s, 1h30m or 7d"),
                argument("--to", metavar="MOMENT", help="to a moment like 2026-03-29T03:00"),
                argument(
                    "--step", action="store_true", help="to the next moment at which one is due"
                ),
                argument(
                    "--rate", type=float, metavar="NUMBER", help="let it run, seconds in a second"
                ),
                argument("--freeze", action="store_true", help="let it stand still again"),
                _TAG,
                *_NODE_JSON,
            ),
        ),
        Task(
            "snapshot",
            "fleet.commands:take_snapshot_of",
            "take a snapshot of controllers on virtual time",
            (argument("label", metavar="LABEL"), _MEMBERS, _TAG, *_NODE_JSON),
        ),
        Task(
            "restore",
            "fleet.commands:restore_snapshot",
            "let controllers go on from a snapshot",
            (argument("label", metavar="LABEL"), _MEMBERS, _TAG, *_NODE_JSON),
        ),
        Task(
            "fork",
            "fleet.commands:fork_controller",
            "make controllers that go on from where another one is",
            (
                _MEMBER,
                argument("to", metavar="NEW_NAME", help=_MADE_NAME),
                argument("--count", type=int, default=1, metavar="NUMBER", help="how many"),
                _NEW_TAG,
                *_NODE_JSON,
            ),
        ),
        Task(
            "fault",
            "fleet.commands:set_faults",
            "set a fault on controllers, or end all with none",
            (
                argument("fault", metavar="FAULT", help="like 'slow*delay:5s', or none"),
                _MEMBERS,
                _TAG,
                argument(
                    "--seed",
                    type=int,
                    default=0,
                    metavar="NUMBER",
                    help="what chance is made from, for each another one (default 0)",
                ),
                *_NODE_JSON,
            ),
        ),
        Task(
            "export",
            "fleet.commands:export_controllers",
            "write a fleet file and the settings of controllers, without secrets",
            (
                argument("folder", metavar="FOLDER", type=Path, help="a new folder"),
                _MEMBERS,
                _TAG,
                *_NODE,
            ),
        ),
        Task(
            "adopt",
            "fleet.moving:adopt_folder",
            "take the controller of a data folder into a node that is stopped",
            (
                argument("folder", metavar="FOLDER", type=Path, help="its data folder"),
                argument("--name", metavar="NAME", help="its name (default: the one that it has)"),
                _NEW_TAG,
            ),
            """\
Take a controller that has run by itself into a node, with settings, secrets, remembered state,
uploads, waiting messages, audit trail and history. Both are stopped. The folder stays as it is.
""",
            takes_config=True,
            config_keys=DATA,
        ),
        Task(
            "release",
            "fleet.moving:release_controller",
            "move a controller of a node that is stopped to a data folder of its own",
            (
                _MEMBER,
                argument("--to", metavar="FOLDER", type=Path, required=True, help="a new folder"),
            ),
            """\
Move a controller to a folder for `leverframe run`, with all that `fleet adopt` takes along. The
node, which is stopped, forgets it when everything is in its new place.
""",
            takes_config=True,
            config_keys=DATA,
        ),
    ),
)

#: In the order of the help.
COMMANDS: tuple[Task | Group, ...] = (
    RUN,
    FLEET,
    SIMULATE,
    WHAT_IF,
    RECORD,
    REPLAY,
    UNIT,
    LIST_COMMANDS,
    PASSWD,
    CONFIG,
    BOARD,
    SITE,
    FIRMWARE,
    BACKUP,
    DATA_FOLDER,
)
