"""`leverframe unit`: commands for units in the field."""

from pathlib import Path

from leverframe.core.durations import DAY_S
from leverframe.host.command_line.task import (
    AS_JSON,
    CA_FILE,
    VERSION,
    Group,
    Task,
    argument,
    at_least_one,
    canary,
    step,
)

_UNIT_USER = argument(
    "--user",
    metavar="NAME",
    help="sign in with this account; the password is prompted for, or read from standard input",
)

_UNIT_GROUP = argument("--group", metavar="NAME", help="only the units of this group")
_VERBOSE = argument(
    *("-v", "--verbose"), action="store_true", help="show every unit in full, without summaries"
)
_ONLY = argument(
    "--only",
    metavar="BRANCHES",
    help="only these branches of the unit file, like outputs,rules",
)

_UNIT_PULL = Task(
    "pull",
    "units.pull:pull",
    "read the settings of units, and list what could not be read",
    (
        argument(
            "units",
            metavar="UNIT",
            nargs="+",
            help="addresses like http://192.168.1.10; or an inventory, optionally followed by "
            "names of its units (default: all)",
        ),
        _UNIT_GROUP,
        argument(
            "--out",
            metavar="PATH",
            type=Path,
            help="unit file (.toml) or new JSON backup (.json) to write; "
            "for several units, a folder for unit files",
        ),
        _UNIT_USER,
        CA_FILE,
        AS_JSON,
        _VERBOSE,
    ),
    """\
Read the settings of units and list what could not be read. Nothing is changed on a unit.

Leverframe shows all its settings except secrets. A real unit shows what its status files contain:
names, outputs, inputs, sensors, rules and the schedule, but not messages, SNMP or the watchdog.

With an inventory, several units are read in parallel with their logins. Units that could not be
read are listed at the end.

  leverframe unit pull http://192.168.1.10
  leverframe unit pull http://192.168.1.10 --out north.toml --user admin
  leverframe unit pull units.toml --out monday
""",
    exit_status="0 if all units were read, 2 if any was not",
)
_UNIT_CHECK = Task(
    "check",
    "units.file_schema:check",
    "check unit files and inventories, and list mistakes with their lines",
    (
        argument(
            "files", metavar="FILE", type=Path, nargs="+", help="unit file or inventory (.toml)"
        ),
    ),
    """\
Check unit files with their includes, and inventories with the files of their units, against the
versions that they name. No unit is contacted and no secret is needed.

  leverframe unit check units.toml
""",
    exit_status="0 if there is no mistake, 1 if there is",
)
_UNIT_SCHEMA = Task(
    "schema",
    "units.file_schema:schema",
    "print the JSON Schema of unit files, for editors",
    (*VERSION,),
)

_UNIT_FIND = Task(
    "find",
    "units.find:find_units",
    "find units in the network or at given addresses",
    (
        argument(
            "addresses",
            metavar="ADDRESS",
            nargs="*",
            help="like 192.168.1.10, 192.168.1.10-40, 192.168.1.0/27 or http://192.168.1.10:8080",
        ),
        argument(
            "--inventory",
            metavar="FILE",
            type=Path,
            help="also sign in to units that this inventory lists with address and MAC address",
        ),
        argument(
            "--user",
            metavar="NAME",
            help="sign in with this account to the given addresses or the units of the inventory; "
            "the password is prompted for, or read from standard input",
        ),
        argument(
            "--listen",
            dest="listen_s",
            metavar="TIME",
            type=step,
            default=3.0,
            help="time to listen for answers (default 3s)",
        ),
        argument("--quick", action="store_true", help="skip the digest of the settings"),
        argument(
            "--out", metavar="UNITS.toml", type=Path, help="write the units to a new inventory"
        ),
        CA_FILE,
        AS_JSON,
    ),
    """\
List units with address, name, MAC address, versions, a digest of their settings, and whether they
require a login. Without an address, send the maker's UDP broadcast, which units from HW 3.5+ SW
1.26 on answer, and listen for controllers that announce themselves by mDNS. With addresses, query
only these by HTTP, at most 20 per second and 1,024 in total.

Any device can answer a search. A password is sent only to hosts that require a login and that you
name by address, or that the inventory lists with the same address and MAC address.

  leverframe unit find
  leverframe unit find 192.168.1.10-40 --json
  leverframe unit find --inventory units.toml
  leverframe unit find 192.168.1.10-40 --out units.toml
""",
    exit_status="0 if units were found and every single address answered, otherwise 1",
)
_UNIT_WATCH = Task(
    "watch",
    "units.watch:watch",
    "monitor the units of an inventory and report problems",
    (
        argument("inventory", metavar="UNITS.toml", type=Path, help="inventory of the units"),
        argument(
            "--port",
            type=int,
            default=8090,
            metavar="PORT",
            help="port of the web page (default 8090)",
        ),
        argument("--once", action="store_true", help="check each unit once, print its state, exit"),
        CA_FILE,
        AS_JSON,
    ),
    """\
Poll every unit of an inventory until stopped. The page with all units, /metrics for Prometheus,
/api/units, /api/state?unit=NAME and /api/history?unit=NAME are served on a loopback address, or on
any other address with a password.

Units that do not answer, restart, lose sensors, send invalid answers or differ from their file are
reported on the page and through the channels of the table [watch].

  leverframe unit watch units.toml --port 8090
  leverframe unit watch units.toml --once

With --once each unit is polled and read once; nothing is served, stored or sent.
""",
    exit_status="with --once: 0 if no unit has a problem, 1 if any has",
)

_UNIT_DIFF = Task(
    "diff",
    "units.diff:diff",
    "show how two units differ, or how units differ from their files",
    (
        argument(
            "first", metavar="A", help="address, unit file, backup, folder, recording or inventory"
        ),
        argument(
            "others",
            metavar="B",
            nargs="*",
            help="second side; after an inventory: names of units in it (default: all)",
        ),
        _UNIT_GROUP,
        argument(
            "--files",
            metavar="FOLDER",
            type=Path,
            help="compare with the files written by `unit pull UNITS.toml --out FOLDER`",
        ),
        _ONLY,
        _UNIT_USER,
        CA_FILE,
        argument(
            "--json", dest="as_json", action="store_true", help="write JSON Lines, one per pair"
        ),
        _VERBOSE,
    ),
    """\
Compare two units, of the same or different versions, and print only the differences, in words. Each
side is the address of a unit, a unit file (.toml), a backup (.bin, .json, .toml), the data folder
of a stopped controller, or a recording with status files (.jsonl). Only the settings that a unit
file mentions are compared. Settings that a version does not support, or that a side does not show,
are listed.

With an inventory, each unit is compared with the file that the inventory names for it. Units with
the same differences are listed together, unreachable units at the end.

  leverframe unit diff http://192.168.1.10 north.toml
  leverframe unit diff monday.bin http://192.168.1.10
  leverframe unit diff units.toml --only outputs,rules
  leverframe unit diff units.toml --files monday
""",
    exit_status="0 if no difference was found, 1 if any was, 2 if a unit could not be compared",
)
_UNITS = argument(
    "units",
    metavar="UNIT",
    nargs="*",
    help="addresses, or names from the inventory (default: all units of the inventory)",
)
_UNIT_INVENTORY = argument(
    "--inventory",
    metavar="FILE",
    type=Path,
    help="read names, logins and groups of units from this inventory",
)
_UNIT_YES = argument("--yes", action="store_true", help="send without confirmation")

_CURL = argument("--curl", action="store_true", help="print the commands as curl command lines")

_UNIT_PLAN = Task(
    "plan",
    "units.plan:plan_units",
    "plan the commands that bring units to the settings of a file",
    (
        argument("file", metavar="FILE", type=Path, help="unit file or inventory"),
        _UNITS,
        _UNIT_INVENTORY,
        _UNIT_GROUP,
        _UNIT_USER,
        CA_FILE,
        _ONLY,
        _VERBOSE,
        _CURL,
        AS_JSON,
        argument("--out", metavar="PLAN.json", type=Path, help="write the plan for `unit apply`"),
        argument(
            "--plants",
            dest="scenario",
            metavar="SCENARIO.toml",
            type=Path,
            help="what-if: simulate the future with and without the plan on these plants",
        ),
        argument(
            "--readings",
            metavar="FOLDER",
            type=Path,
            help="what-if: simulate the future with the recorded readings of this data folder",
        ),
        argument(
            "--for",
            dest="for_s",
            metavar="TIME",
            type=step,
            default=DAY_S,
            help="what-if: how far to look ahead (default 24h)",
        ),
    ),
    """\
Read units and plan the commands that bring them to the settings of a unit file. The order is safe:
a rule is off only while it is written, no output is switched, and accounts come last. Each plan is
first carried out on a twin of the unit's version; a plan that fails there is rejected. No command
is sent to a unit.

  leverframe unit plan north.toml http://192.168.1.10
  leverframe unit plan units.toml --group greenhouses --out plan.json
  leverframe unit plan units.toml --only outputs,rules --verbose

A plan file may contain passwords and is readable only by its owner. Printed plans contain none.
""",
    exit_status="0 if the plans reach every setting, 1 if not, 2 if a unit has no plan",
)
_UNIT_SHOW = Task(
    "show",
    "units.plan:show_plans",
    "show every plan of a plan file in full",
    (
        argument("file", metavar="PLAN.json", type=Path, help="plan file of `unit plan --out`"),
        argument(
            "units", metavar="UNIT", nargs="*", help="names or addresses of units (default: all)"
        ),
        argument("--user", metavar="NAME", help="account to write into the curl command lines"),
        _CURL,
        AS_JSON,
    ),
    """\
Show every step of the plans in a file written by `unit plan --out`. Nothing is sent, and passwords
are not shown.

  leverframe unit show plan.json north
""",
)
_UNIT_APPLY = Task(
    "apply",
    "units.apply:apply_plans",
    "carry out plans on units and verify every step",
    (
        argument(
            "file",
            metavar="PLAN",
            type=Path,
            nargs="?",
            help="plan file of `unit plan --out`, unit file or inventory",
        ),
        _UNITS,
        _UNIT_INVENTORY,
        _UNIT_GROUP,
        _UNIT_USER,
        CA_FILE,
        _UNIT_YES,
        argument(
            "--canary",
            metavar="N",
            type=canary,
            default=0,
            help="apply to N units first, or with `versions` to one unit of each version; "
            "continue only if all of them succeed",
        ),
        argument(
            "--canary-group",
            metavar="NAME",
            help="apply to the units of this inventory group first",
        ),
        argument(
            "--batch",
            metavar="N",
            type=at_least_one,
            default=1,
            help="number of units at a time after that (default 1)",
        ),
        argument(
            "--journal",
            metavar="FOLDER",
            type=Path,
            default=Path("unit-journal"),
            help="folder for the journal of each unit (default unit-journal)",
        ),
        argument("--resume", action="store_true", help="resume interrupted work from the journals"),
        _ONLY,
        _VERBOSE,
        AS_JSON,
    ),
    """\
Show plans, ask for confirmation, and send their commands, each once. After each step the new
settings are read back where possible; the work stops at the first difference. A unit that has
changed since its plan was made is rejected.

  leverframe unit apply plan.json
  leverframe unit apply units.toml --canary 1 --batch 5
  leverframe unit apply plan.json --canary versions --batch 10 --yes --json
  leverframe unit apply --resume
  leverframe unit rollback unit-journal/north-20260314T101500.000000Z.jsonl

If it stops, it shows what is incomplete and which commands continue or revert it.
""",
    exit_status="0 if done, 1 if declined or a plan does not reach every setting, 2 if stopped, "
    "130 after Ctrl-C",
)
_UNIT_ROLLBACK = Task(
    "rollback",
    "units.rollback:roll_back",
    "revert changes of units from their journals",
    (
        argument(
            "journals",
            metavar="JOURNAL",
            type=Path,
            nargs="+",
            help="journals of changes, or the folder with all journals of a roll-out",
        ),
        _UNIT_INVENTORY,
        _UNIT_USER,
        CA_FILE,
        _UNIT_YES,
    ),
    """\
Restore the settings that a unit had when its journal began: plan the changes, verify them on a
twin, show them, ask for confirmation, and carry them out like `unit apply`. Several changes of one
unit are rolled back together, the newest first. If one unit fails, the remaining units continue.

  leverframe unit rollback unit-journal/north-20260314T101500.000000Z.jsonl
  leverframe unit rollback unit-journal --yes

With a folder or several journals, changes that were already rolled back are skipped. Settings whose
previous values are not in a journal, such as replaced passwords, are listed.
""",
    exit_status="0 if everything was restored, 1 if not or if declined, 2 if a unit failed",
)

_UNIT_TAKE_OVER = Task(
    "take-over",
    "units.take_over:take_over",
    "create a controller that replaces a unit",
    (
        argument("unit", metavar="URL", help="URL of the unit, like http://192.168.1.10"),
        argument("--data", metavar="DIR", type=Path, required=True, help="new data folder"),
        argument(
            "--config-out",
            metavar="FILE",
            type=Path,
            required=True,
            help="new configuration file, for `leverframe run --config`",
        ),
        argument(
            "--host",
            metavar="ADDRESS",
            default="127.0.0.1",
            help="address to listen on (default 127.0.0.1)",
        ),
        argument(
            "--port", type=int, metavar="PORT", help="port to listen on (default: the unit's port)"
        ),
        argument(
            "--file",
            metavar="FILE",
            type=Path,
            help="unit file with settings the unit does not show: accounts, passwords, messages",
        ),
        _UNIT_USER,
        CA_FILE,
    ),
    """\
Read a unit and create a software controller with its settings, name, MAC address, version, meters
and the account used to sign in. Settings that the unit does not show, such as its other accounts,
come from a unit file; settings found in neither are listed. Nothing is changed on the unit.

  leverframe unit take-over http://192.168.1.10 --data cellar --config-out cellar.toml
  leverframe run --config cellar.toml
""",
)

_UNIT_GIVE_BACK = Task(
    "give-back",
    "units.take_over:give_back",
    "plan how to transfer a controller's changes back to its original unit",
    (
        argument(
            "--data",
            metavar="DIR",
            type=Path,
            required=True,
            help="data folder of the controller",
        ),
        argument("--to", metavar="URL", help="URL of the unit (default: the original unit)"),
        argument("--out", metavar="FILE", type=Path, help="write the plan for `unit apply`"),
        _UNIT_USER,
        CA_FILE,
    ),
    """\
Compare a stopped controller that was created by `unit take-over` with its initial settings, and
plan the same changes for the unit. The plan is verified on a twin, and nothing is sent. Settings
that were not changed on the controller, and all accounts, stay as they are on the unit.

  leverframe unit give-back --data cellar --out back.json
  leverframe unit apply back.json
""",
    exit_status="0 if the plan reaches every setting, 1 if not",
)

UNIT = Group(
    "unit",
    "read, compare, change and watch units in the field",
    """\
Work with units in the field, real units as well as Leverframe. Name a unit by its address, like
http://192.168.1.10. Requests are sent one at a time, at most four per second.
""",
    (
        _UNIT_FIND,
        _UNIT_PULL,
        _UNIT_DIFF,
        _UNIT_CHECK,
        _UNIT_SCHEMA,
        _UNIT_PLAN,
        _UNIT_SHOW,
        _UNIT_APPLY,
        _UNIT_ROLLBACK,
        _UNIT_WATCH,
        _UNIT_TAKE_OVER,
        _UNIT_GIVE_BACK,
    ),
)
