"""Commands for one controller: run, simulate, what-if, record, replay, commands, passwd."""

from pathlib import Path

from leverframe.core.durations import DAY_S
from leverframe.host.command_line.task import (
    ALL_KEYS,
    AS_JSON,
    CA_FILE,
    DATA,
    FOR_HOW_LONG,
    VERSION,
    ConfigUse,
    Task,
    argument,
    step,
)

RUN = Task(
    "run",
    "host.serve:run",
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
Run one controller. It serves the HTTP commands of its version on the configured address and stores
its settings in a data folder. The board is simulated by default.

  leverframe run                                  http://127.0.0.1:8080/, newest version
  leverframe run --port 8081 --data cellar        a second controller with its own data folder
  leverframe run --config cellar.toml             the same, configured by a file
  leverframe run --hw 3.0 --sw 1.58a --data old   an older unit
  leverframe run --virtual-time                   time stands still until /sim.cgi?advance=SECONDS

Every option is also a key of the file (--virtual-time: virtual_time = true) and an environment
variable (LEVERFRAME_VIRTUAL_TIME=true). Options override variables; variables override the file.
""",
    config=ALL_KEYS,
)

SIMULATE = Task(
    "simulate",
    "host.simulate:simulate",
    "run a scenario in virtual time",
    (
        argument("scenario", metavar="SCENARIO.toml", type=Path),
        FOR_HOW_LONG,
        argument("--csv", metavar="FILE", type=Path, help="write readings to this CSV file"),
        argument(
            "--step",
            dest="step_s",
            metavar="TIME",
            type=step,
            help="write one row per interval, like 60s, instead of one per change",
        ),
        AS_JSON,
    ),
    """\
Run a controller through a scenario in virtual time, print what happened and why, and record
readings. The same scenario always produces the same result.

  leverframe simulate examples/greenhouse.toml --for 24h
  leverframe simulate examples/tank.toml --for 7d --csv tank.csv --step 60s
""",
)

WHAT_IF = Task(
    "what-if",
    "host.what_if:compare_futures",
    "show what commands would change in the coming hours",
    (
        argument(
            "--commands",
            metavar="FILE",
            type=Path,
            required=True,
            help="file with the commands to try, one per line, like /outs.cgi?out0=1",
        ),
        argument(
            "--for",
            dest="for_s",
            metavar="TIME",
            type=step,
            default=DAY_S,
            help="how far to look ahead, like 12h or 7d (default 24h)",
        ),
        argument(
            "--plants",
            dest="scenario",
            metavar="SCENARIO.toml",
            type=Path,
            help="take readings from the simulated plants of this scenario",
        ),
        argument("--json", action="store_true", help="print one JSON object"),
    ),
    """\
Make two copies of a stopped controller, carry out commands on one of them, run both ahead in
virtual time, and show where their journals differ. The controller itself is not changed. Recorded
readings of the last hours are replayed. For a running controller, use /api/what-if.

  leverframe what-if --data cellar --commands change.txt --for 24h
  leverframe what-if --data cellar --commands change.txt --for 7d --plants greenhouse.toml
""",
    config=ConfigUse(("data", "timezone")),
    exit_status="0 if the journals are equal, 1 if they differ",
)

RECORD = Task(
    "record",
    "testing.recordings.proxy:record",
    "record the exchanges between a client and a unit",
    (
        argument("unit", metavar="URL", help="URL of the unit, like http://192.168.1.10"),
        argument(
            "--out", metavar="FILE", type=Path, required=True, help="write the recording here"
        ),
        argument(
            "--port",
            type=int,
            default=0,
            metavar="PORT",
            help="loopback port to listen on (default: any free port)",
        ),
        CA_FILE,
        AS_JSON,
    ),
    """\
Proxy requests from a client to a unit, real or a twin, and record every exchange as JSON Lines. The
first line of output shows the loopback address that the client must use instead of the unit's.
Passwords, logins, cookies and other secrets are masked before anything is written.

  leverframe record http://192.168.1.10 --out session.jsonl
  leverframe replay session.jsonl --against http://127.0.0.1:8080
  leverframe run --recorded session.jsonl     use recorded answers for unknown requests
""",
)

REPLAY = Task(
    "replay",
    "testing.recordings.replay:replay",
    "replay a recording against another unit and show the differences",
    (
        argument(
            "recording", metavar="RECORDING", type=Path, help="written by `leverframe record`"
        ),
        argument(
            "--against",
            metavar="URL",
            required=True,
            help="URL of the unit, like http://127.0.0.1:8080",
        ),
        argument(
            "--exclude",
            metavar="KEY,KEY",
            action="append",
            default=[],
            help="keys to ignore, in addition to time, uptime, mac, sname and ports",
        ),
        argument(
            "--strict",
            action="store_true",
            help="also compare keys that always differ, such as time and mac",
        ),
        argument(
            "--tolerance",
            metavar="NUMBER",
            default="0",
            help="allowed difference between numbers, like 0.5 or 2%% (default 0)",
        ),
        argument(
            "--pace",
            choices=("fast", "recorded", "virtual"),
            default="fast",
            help="fast: no pauses; recorded: the recorded pauses; virtual: advance the virtual "
            "time of a twin by them (default fast)",
        ),
        argument(
            "--user",
            metavar="NAME",
            help="sign in where the recorded client did; the password is prompted for",
        ),
        CA_FILE,
        AS_JSON,
    ),
    """\
Send the requests of a recording to a unit, real or a twin, and compare the answers by meaning: keys
of JSON and XML in any order, numbers within a tolerance. Keys that always differ, such as time,
uptime and mac, are listed but not counted. Requests with masked secrets are not sent.

  leverframe replay session.jsonl --against http://127.0.0.1:8080
  leverframe replay session.jsonl --against http://192.168.1.11 --tolerance 2% --exclude vin,temp
  leverframe replay session.jsonl --against http://127.0.0.1:8080 --pace virtual
""",
    exit_status="0 if the answers are equal, 1 if they differ, 2 if the replay failed",
)

RULE = Task(
    "rule",
    "host.rule:add_rule",
    "add a rule, written as a line of text",
    (
        argument("text", metavar="RULE", help="like 'when DS1 >= 25 until 23 then OUT2 on'"),
        argument(
            "--to",
            metavar="URL",
            default="http://127.0.0.1:8080",
            help="URL of the controller (default http://127.0.0.1:8080)",
        ),
        argument(
            "--user",
            metavar="NAME",
            help="administrator to sign in as; the password is prompted for",
        ),
        CA_FILE,
        AS_JSON,
    ),
    """\
Add a rule to a running controller and enable it. The command prints the request that sets the rule.

  leverframe rule 'when DS1 >= 25 until 23 then OUT2 on'
  leverframe rule 'when INPD1 is off and DS2 < 3 then "Heater" on, starts after 1min'
  leverframe rule 'when DS1 >= 60 then eMail 1, only at the start' --to http://192.168.1.10

A name in double quotes is the user's name of an input or output. `until` is the value at which the
condition ends. Options after the action: starts after TIME, ends after TIME, only at the start,
only at the end, unless rule N, while rule N, permanent.
""",
)

LIST_COMMANDS = Task(
    "commands",
    "host.command_line.listings:list_commands",
    "list the HTTP commands of a version",
    (
        argument("word", nargs="?", help="list only commands that contain this word"),
        *VERSION,
        AS_JSON,
    ),
    exit_status="0 if a command was found, 1 if not",
)

PASSWD = Task(
    "passwd",
    "fleet.node_commands:change_password",
    "set a password while the controller or node is stopped",
    (
        argument("account", nargs="?", help="name of the account (default: the administrator)"),
        argument("--generate", action="store_true", help="generate a password and print it"),
        argument(
            "--controller",
            metavar="NAME",
            help="in the folder of a node: change an account of this controller (default: an"
            " account of the node)",
        ),
        argument(
            "--database",
            metavar="WHERE",
            help="shared database of the node, as for `fleet run`, if no file names it",
        ),
        argument(
            "--node",
            metavar="NAME",
            help="name of the node in that database (default: the machine's name)",
        ),
    ),
    """\
Set the password of an account; the controller requires sign-in from then on. The password is
prompted for, or read from standard input. The controller must be stopped. With the folder or fleet
file of a stopped node, the account is one of the node, or with --controller of that controller.

  leverframe passwd --data cellar
  leverframe passwd --data house                          administrator of a node
  leverframe passwd --data house --controller cellar      administrator of its controller cellar
  leverframe passwd --config fleet.toml                   administrator of the node of a fleet file

Nodes that share a database have one administrator. Only the node of the named file or folder must
be stopped; the other nodes may run.
""",
    config=DATA,
)
