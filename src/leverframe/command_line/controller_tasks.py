"""What is done with one controller: run, simulated, recorded, asked what would be."""

from pathlib import Path

from leverframe.command_line.task import (
    ALL_KEYS,
    AS_JSON,
    CA_FILE,
    DATA,
    FOR_HOW_LONG,
    VERSION,
    TakenConfig,
    Task,
    argument,
    step,
)
from leverframe.durations import DAY_S

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
    config=ALL_KEYS,
)

SIMULATE = Task(
    "simulate",
    "simulation.simulate:simulate",
    "run a scenario on virtual time",
    (
        argument("scenario", metavar="SCENARIO.toml", type=Path),
        FOR_HOW_LONG,
        argument("--csv", metavar="FILE", type=Path, help="record values to this file"),
        argument(
            "--step",
            dest="step_s",
            metavar="TIME",
            type=step,
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
            type=step,
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
    config=TakenConfig(("data", "timezone")),
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
        CA_FILE,
        AS_JSON,
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
        CA_FILE,
        AS_JSON,
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
        *VERSION,
    ),
)

PASSWD = Task(
    "passwd",
    "fleet.node_passwd:change_password",
    "set a password while the controller or node is stopped",
    (
        argument("account", nargs="?", help="its name (default: the administrator)"),
        argument("--generate", action="store_true", help="make a random password and show it"),
        argument(
            "--controller",
            metavar="NAME",
            help="in the folder of a node: an account of this controller (default: of the node)",
        ),
        argument(
            "--database",
            metavar="WHERE",
            help="of a node that shares one: as for `fleet run`, where no file names it",
        ),
        argument("--node", metavar="NAME", help="its name there (default: the machine's)"),
    ),
    """\
Set the password of an account; the controller requires sign-in from then on. The password is asked
for, or read from standard input. The controller must be stopped. In the folder of a node that is
stopped, or with its fleet file, it is an account of the node itself, or with --controller one of
that controller.

  leverframe passwd --data cellar
  leverframe passwd --data house                          the administrator of a node
  leverframe passwd --data house --controller cellar      the administrator of its controller cellar
  leverframe passwd --config fleet.toml                   the administrator of the node of a file

Where nodes share a database, one administrator is that of all: of these only the one whose file or
folder is named must be stopped.
""",
    config=DATA,
)
