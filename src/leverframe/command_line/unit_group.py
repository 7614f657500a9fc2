"""`leverframe unit`: units in the field."""

from pathlib import Path

from leverframe.command_line.task import (
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
from leverframe.durations import DAY_S

_UNIT_USER = argument(
    "--user",
    metavar="NAME",
    help="sign in with this account; the password is asked for, or read from standard input",
)

_UNIT_GROUP = argument("--group", metavar="NAME", help="only the units of this group")
_VERBOSE = argument(
    *("-v", "--verbose"), action="store_true", help="show every unit in full, not in summary"
)
_ONLY = argument(
    "--only",
    metavar="BRANCHES",
    help="only these branches of the unit file, such as outputs,rules",
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
            help="addresses like http://192.168.1.10, or an inventory with names of its units "
            "behind it (default all of them)",
        ),
        _UNIT_GROUP,
        argument(
            "--out",
            metavar="PATH",
            type=Path,
            help="a unit file (.toml) or a new backup as JSON (.json); "
            "for several units a folder of unit files",
        ),
        _UNIT_USER,
        CA_FILE,
        AS_JSON,
        _VERBOSE,
    ),
    """\
Read the settings of units and list what could not be read. Leverframe shows all of them but its
secrets. A real unit shows what its status files have: names, outputs, inputs, sensors, rules and
the schedule, but not messages, SNMP or the watchdog. Nothing is changed on a unit.

Of an inventory, several units are read at a time, with their logins. Units that could not be read
are listed at the end.

  leverframe unit pull http://192.168.1.10
  leverframe unit pull http://192.168.1.10 --out north.toml --user admin
  leverframe unit pull units.toml --out monday

The exit code is 0 where every unit was read and 2 where one was not.
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
    (*VERSION,),
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
        argument(
            "--inventory",
            metavar="FILE",
            type=Path,
            help="sign in also at units that this inventory lists with their address and MAC",
        ),
        argument(
            "--user",
            metavar="NAME",
            help="sign in with this account at the named addresses, or at units of the inventory; "
            "the password is asked for, or read from standard input",
        ),
        argument(
            "--listen",
            dest="listen_s",
            metavar="TIME",
            type=step,
            default=3.0,
            help="how long to listen for answers (default 3s)",
        ),
        argument("--quick", action="store_true", help="leave out the digest of the settings"),
        argument(
            "--out", metavar="UNITS.toml", type=Path, help="write the units to a new inventory"
        ),
        CA_FILE,
        AS_JSON,
    ),
    """\
List units with address, name, MAC address, versions, a digest of their settings, and whether they
ask for a login. Without an address the question of the maker is broadcast by UDP, which units from
HW 3.5+ SW 1.26 on answer, and controllers that announce themselves by mDNS are heard. With
addresses these alone are asked, by HTTP, at most 20 in a second and 1024 in all.

Any device can answer a search. A password is sent only to hosts at the addresses that you name, and
to units that the inventory lists with the same address and MAC address, when they ask for a login.

  leverframe unit find
  leverframe unit find 192.168.1.10-40 --json
  leverframe unit find --inventory units.toml
  leverframe unit find 192.168.1.10-40 --out units.toml

The exit code is 0 where units were found and every address that is named by itself answers, else 1.
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
        CA_FILE,
        AS_JSON,
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
    "show how two units differ, or the units of an inventory from their files",
    (
        argument(
            "first", metavar="A", help="an address, unit file, backup, folder, recording, inventory"
        ),
        argument(
            "others",
            metavar="B",
            nargs="*",
            help="what it is compared with; behind an inventory names of its units (default all)",
        ),
        _UNIT_GROUP,
        argument(
            "--files",
            metavar="FOLDER",
            type=Path,
            help="compare with the files in the folder of `unit pull UNITS.toml --out FOLDER`",
        ),
        _ONLY,
        _UNIT_USER,
        CA_FILE,
        argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object for each"
        ),
        _VERBOSE,
    ),
    """\
Compare two units, of the same version or of two, and print only what differs, in words. A side is
the address of a unit, a unit file (.toml), a backup (.bin, .json, .toml), the data folder of a
controller that is stopped, or a recording with status files (.jsonl). A unit file is compared in
what it speaks about. What a version cannot hold, and what a side does not know, is listed.

Of an inventory, each unit is compared with the file that the inventory names for it. Units that
differ in the same way are listed together, unreachable ones at the end.

  leverframe unit diff http://192.168.1.10 north.toml
  leverframe unit diff monday.bin http://192.168.1.10
  leverframe unit diff units.toml --only outputs,rules
  leverframe unit diff units.toml --files monday

The exit code is 0 where nothing differs, as far as can be known, 1 where something does, and 2
where a unit could not be compared.
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
_UNIT_YES = argument("--yes", action="store_true", help="send it without asking")

_CURL = argument("--curl", action="store_true", help="print the commands for curl")

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
            type=step,
            default=DAY_S,
            help="how far what-if looks ahead (default 24h)",
        ),
    ),
    """\
Read units and plan the commands that lead them to what a unit file says, in a safe order: a rule
is off only while it is written, no output is switched, accounts come last. The plan is carried out
on a twin of the unit's version first; one that does not lead there is not shown. Nothing is sent to
the unit.

  leverframe unit plan north.toml http://192.168.1.10
  leverframe unit plan units.toml --group greenhouses --out plan.json
  leverframe unit plan units.toml --only outputs,rules --verbose

A plan file may hold passwords and is for its owner alone; what is printed has none. The exit code
is 0 where everything is reached, 1 where something that is wanted is not, and 2 where there is no
plan for a unit.
""",
)
_UNIT_SHOW = Task(
    "show",
    "units.plan:show_plans",
    "show the plans of a plan file, each in full",
    (
        argument("file", metavar="PLAN.json", type=Path, help="a plan of `unit plan --out`"),
        argument(
            "units", metavar="UNIT", nargs="*", help="names or addresses of units (default all)"
        ),
        argument("--user", metavar="NAME", help="write this account into the commands for curl"),
        _CURL,
        AS_JSON,
    ),
    """\
Show every step of the plans in a file that `unit plan --out` wrote. Nothing is sent, and passwords
are not shown.

  leverframe unit show plan.json north
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
        CA_FILE,
        _UNIT_YES,
        argument(
            "--canary",
            metavar="N",
            type=canary,
            default=0,
            help="try N units first, or `versions`: one of each version; "
            "continue only if all of them succeed",
        ),
        argument(
            "--canary-group",
            metavar="NAME",
            help="try the units of this group of the inventory first",
        ),
        argument(
            "--batch",
            metavar="N",
            type=at_least_one,
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
            "--resume", action="store_true", help="continue what was interrupted, by the journal"
        ),
        _ONLY,
        _VERBOSE,
        AS_JSON,
    ),
    """\
Show plans, ask, and send their commands, each once. What can be read back is read back after each
step, and the work stops at the first difference. A unit that has changed since its plan was made is
refused.

  leverframe unit apply plan.json
  leverframe unit apply units.toml --canary 1 --batch 5
  leverframe unit apply plan.json --canary versions --batch 10 --yes --json
  leverframe unit apply --resume
  leverframe unit rollback unit-journal/north-20260314T101500.000000Z.jsonl

Where it stops, it says what is half done and which commands continue or revert it. Exit status: 0
done; 1 the operator said no, or a plan does not reach all that is wanted; 2 stopped; 130 Ctrl-C.
""",
)
_UNIT_ROLLBACK = Task(
    "rollback",
    "units.rollback:roll_back",
    "restore what units were before changes, by their journals",
    (
        argument(
            "journals",
            metavar="JOURNAL",
            type=Path,
            nargs="+",
            help="journals of changes, or a folder with all journals of a roll-out",
        ),
        _UNIT_INVENTORY,
        _UNIT_USER,
        CA_FILE,
        _UNIT_YES,
    ),
    """\
Plan the way back from what a unit is to what it was when its journal began, prove it on a twin,
show it, ask, and carry it out as `unit apply` does. Several changes of one unit are rolled back
together, the newest first. A unit that fails does not stop the others.

  leverframe unit rollback unit-journal/north-20260314T101500.000000Z.jsonl
  leverframe unit rollback unit-journal --yes

With a folder or several journals, changes that were rolled back before are left out. Settings that
no journal knows, such as passwords that were replaced, are listed.

The exit code is 0 where everything is as before, 1 where something could not be restored or the
answer was no, and 2 where a unit failed.
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
        CA_FILE,
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
        CA_FILE,
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
        _UNIT_SHOW,
        _UNIT_APPLY,
        _UNIT_ROLLBACK,
        _UNIT_WATCH,
        _UNIT_TAKE_OVER,
        _UNIT_GIVE_BACK,
    ),
)
