"""Tasks of `leverframe fleet` for the controllers of a node."""

from pathlib import Path

from leverframe.host.command_line.task import (
    AS_JSON,
    CA_FILE,
    Needed,
    Task,
    argument,
    non_empty,
    several,
)

# Arguments of several tasks of `leverframe fleet`.

NODE = (
    argument(
        "--node",
        metavar="URL",
        default="http://127.0.0.1:8080",
        help="URL of the node (default http://127.0.0.1:8080)",
    ),
    argument(
        "--user",
        metavar="NAME",
        help="sign in with this account; the password is prompted for, or read from standard input",
    ),
    CA_FILE,
)
NODE_JSON = (*NODE, AS_JSON)
MEMBER = argument("name", metavar="NAME", type=non_empty)
MEMBERS = argument(
    "name", metavar="NAME", nargs="*", type=non_empty, help="controllers (default: all)"
)
LABEL = argument("label", metavar="LABEL", type=non_empty)
TAG = several("--tag", "TAG", "only controllers with this tag; repeat for several tags")
NEW_TAG = several("--tag", "TAG", "tag the new controllers; repeat for several tags", dest="tags")
DATABASE = argument(
    "--database",
    metavar="WHERE",
    required=True,
    help="PostgreSQL connection string as for psql: host=... dbname=..., or a URL",
)
NAME_PATTERN = "name, with {n} or {n:03} for the number"
OPEN = argument(
    "--open",
    action="store_true",
    help="add: leave controllers without a password open to every user of the node's machine",
)


#: The node's API expects "0" for a check that is off; options that are not given are not sent.
OFF = "0"
FIRST = argument(
    "--first",
    type=int,
    default=1,
    metavar="NUMBER",
    help="number of the first controller (default 1)",
)
NEW_PLACES = (
    argument(
        "--address",
        metavar="ADDRESS",
        help="address of the first controller; each further controller gets the next address",
    ),
    argument(
        "--port",
        type=int,
        metavar="PORT",
        help="port of the first controller; each further controller gets the next port",
    ),
)

CONTROLLER_TASKS = (
    Task(
        "add",
        "fleet.controller_commands:add_controllers",
        "create controllers",
        (
            argument("--name", metavar="NAME", required=True, type=non_empty, help=NAME_PATTERN),
            argument(
                "--count",
                type=int,
                default=1,
                metavar="NUMBER",
                help="number of controllers (default 1)",
            ),
            FIRST,
            argument(
                "--template", metavar="FILE", type=Path, help="backup with the initial settings"
            ),
            argument("--hw", metavar="VERSION", help="hardware version"),
            argument("--sw", metavar="VERSION", help="software version"),
            NEW_TAG,
            *NEW_PLACES,
            argument("--tenant", metavar="TENANT", help="tenant that owns the new controllers"),
            OPEN,
            argument("--dry-run", action="store_true", help="only check; create nothing"),
            *NODE_JSON,
        ),
    ),
    Task(
        "list",
        "fleet.controller_commands:list_controllers",
        "list controllers with version, tags, health and address",
        (MEMBERS, TAG, *NODE_JSON),
    ),
    Task(
        "show",
        "fleet.controller_commands:show_controller",
        "show a controller and its settings",
        (MEMBER, *NODE_JSON),
    ),
    Task(
        "remove",
        "fleet.controller_commands:remove_controllers",
        "remove controllers and all their stored data",
        (
            argument("name", metavar="NAME", nargs="*", type=non_empty, help="controllers"),
            TAG,
            *NODE_JSON,
        ),
        needed=Needed(("name", "tag")),
    ),
    Task(
        "rename",
        "fleet.controller_commands:rename_controller",
        "rename a controller",
        (MEMBER, argument("to", metavar="NEW_NAME", type=non_empty), *NODE_JSON),
    ),
    Task(
        "place",
        "fleet.controller_commands:place_controllers",
        "assign controllers their own addresses or ports, or remove them",
        (
            argument("names", metavar="NAME", nargs="+", type=non_empty, help="controllers"),
            argument(
                "--address",
                metavar="ADDRESS",
                help="address of the first controller, the next address for each further one;"
                " none removes them",
            ),
            argument(
                "--port",
                type=int,
                metavar="PORT",
                help="port of the first controller, the next port for each further one; 0 removes"
                " them",
            ),
            *NODE_JSON,
        ),
        """\
Assign an existing controller its own address or port. It keeps running; its connections are closed.
A place in the fleet file takes precedence. Controllers are placed one after the other. If a place
cannot be used, the task stops there and the controllers before it keep their new places. A
controller that failed to start is started at its new place.
""",
        needed=Needed(("address", "port")),
    ),
    Task(
        "start",
        "fleet.controller_commands:start_controllers_again",
        "retry controllers that failed to start",
        (
            argument(
                "names",
                metavar="NAME",
                nargs="*",
                type=non_empty,
                help="controllers (default: all that failed to start)",
            ),
            *NODE_JSON,
        ),
        exit_status="0 if all of them started, 1 if any failed again",
    ),
    Task(
        "tag",
        "fleet.controller_commands:tag_controllers",
        "add tags to controllers, or remove them",
        (
            MEMBERS,
            TAG,
            several("--add", "TAG", "add this tag; repeat for several tags"),
            several("--remove", "TAG", "remove this tag; repeat for several tags"),
            *NODE_JSON,
        ),
        needed=Needed(("add", "remove")),
    ),
    Task(
        "send",
        "fleet.controller_commands:send_command",
        "send a command to many controllers",
        (
            argument(
                "command",
                metavar="COMMAND",
                type=non_empty,
                help="like 'outs.cgi?out0=1'; append a body after a space",
            ),
            MEMBERS,
            TAG,
            argument(
                "--dry-run",
                action="store_true",
                help="change nothing; list controllers that would reject it",
            ),
            argument(
                "--all-or-none",
                action="store_true",
                help="change nothing if any controller rejects it",
            ),
            *NODE_JSON,
        ),
        exit_status="0 if all controllers accepted the command, 1 if any rejected it",
    ),
    Task(
        "rollout",
        "fleet.operator_commands:roll_out",
        "change many controllers in groups, with rollback",
        (
            argument(
                "what",
                metavar="WHAT",
                choices=(
                    *("plan", "list", "show", "start", "stop"),
                    *("resume", "retry", "undo", "remove"),
                ),
                help="plan, list, show, start, stop, resume, retry, undo or remove",
            ),
            argument(
                "id",
                metavar="ID",
                nargs="?",
                help="ID of the roll-out; plan assigns a new one",
            ),
            argument(
                "--command",
                metavar="COMMAND",
                action="append",
                default=[],
                help="plan: like 'stm.cgi?oname=0Pump'; repeat for several commands",
            ),
            argument(
                "--template", metavar="FILE", type=Path, help="plan: backup with the new settings"
            ),
            argument(
                "--name",
                action="append",
                default=[],
                metavar="NAME",
                help="plan: only this controller; repeat for several controllers",
            ),
            TAG,
            argument(
                "--groups",
                metavar="SIZES",
                help="plan: group sizes, like 1,10%%,rest (default: one group)",
            ),
            argument(
                "--success",
                metavar="PERCENT",
                type=float,
                help="plan: share of a group that must succeed before the next (default 100)",
            ),
            argument(
                "--errors",
                metavar="NUMBER",
                help="plan: number of failures that stop it, like 3, 5%% or none (default 10%%)",
            ),
            argument("--pause", metavar="TIME", help="plan: pause after each group, like 10m"),
            argument(
                "--no-health-check",
                dest="check_health",
                action="store_const",
                const=OFF,
                help="plan: do not check health after each group",
            ),
            argument(
                "--no-snapshot",
                dest="snapshot",
                action="store_const",
                const=OFF,
                help="plan: take no snapshot; `undo` is then not possible",
            ),
            argument(
                "--dry-run",
                action="store_true",
                help="plan: only list controllers that would reject it",
            ),
            *NODE_JSON,
        ),
        """\
Change many controllers, one group after the other. A plan is first tried on copies of all
controllers and changes nothing until it is started. Each controller applies the change exactly
once; an interrupted roll-out resumes when the node restarts. `undo` restores the previous settings
of the controllers that were changed.
""",
        exit_status="0 if every controller succeeded, 1 if any failed",
    ),
    Task(
        "drift",
        "fleet.operator_commands:show_drift",
        "show how controllers differ from a template",
        (
            argument(
                "--template",
                metavar="FILE",
                type=Path,
                required=True,
                help="backup to compare with",
            ),
            MEMBERS,
            TAG,
            *NODE_JSON,
        ),
        exit_status="0 if no controller differs, 1 if any does",
    ),
    Task(
        "changes",
        "fleet.operator_commands:show_changes",
        "list changes with account and controller, newest first",
        (
            MEMBERS,
            TAG,
            argument("--by", metavar="ACCOUNT", help="only changes made by this account"),
            argument(
                "--since",
                metavar="TIME",
                help="age like 24h, or time like 2026-03-29T03:00 in the time zone of the node",
            ),
            argument("--count", metavar="NUMBER", type=int, help="number of changes (default 200)"),
            *NODE_JSON,
        ),
    ),
    Task(
        "advance",
        "fleet.controller_commands:advance_time",
        "move the virtual time of all controllers together",
        (
            argument(
                "duration", nargs="?", metavar="TIME", type=non_empty, help="like 90s, 1h30m or 7d"
            ),
            argument(
                "--to",
                metavar="MOMENT",
                type=non_empty,
                help="to a time like 2026-03-29T03:00 in the time zone of the node",
            ),
            argument("--step", action="store_true", help="to the next event due on any controller"),
            argument(
                "--rate",
                type=float,
                metavar="NUMBER",
                help="let time run at this number of virtual seconds per second",
            ),
            argument("--freeze", action="store_true", help="stop it again"),
            TAG,
            *NODE_JSON,
        ),
        needed=Needed(("duration", "to", "step", "rate", "freeze"), only_one=True),
    ),
    Task(
        "snapshot",
        "fleet.operator_commands:take_snapshot_of",
        "take a snapshot of controllers, stored by the node",
        (LABEL, MEMBERS, TAG, *NODE_JSON),
    ),
    Task(
        "snapshots",
        "fleet.operator_commands:list_snapshots",
        "list snapshots with label, time and number of controllers",
        NODE_JSON,
    ),
    Task(
        "remove-snapshot",
        "fleet.operator_commands:remove_snapshot",
        "remove a snapshot; controllers are not changed",
        (LABEL, *NODE_JSON),
    ),
    Task(
        "restore",
        "fleet.operator_commands:restore_snapshot",
        "restore controllers from a snapshot",
        (LABEL, MEMBERS, TAG, *NODE_JSON),
    ),
    Task(
        "fork",
        "fleet.controller_commands:fork_controller",
        "create copies of a controller with its present state",
        (
            MEMBER,
            argument("to", metavar="NEW_NAME", type=non_empty, help=NAME_PATTERN),
            argument(
                "--count",
                type=int,
                default=1,
                metavar="NUMBER",
                help="number of copies (default 1)",
            ),
            FIRST,
            NEW_TAG,
            *NEW_PLACES,
            *NODE_JSON,
        ),
    ),
    Task(
        "fault",
        "fleet.controller_commands:set_faults",
        "simulate a fault on controllers, or clear all faults with none",
        (
            argument(
                "fault", metavar="FAULT", type=non_empty, help="like 'slow*delay:5s', or none"
            ),
            MEMBERS,
            TAG,
            argument(
                "--seed",
                type=int,
                default=0,
                metavar="NUMBER",
                help="random seed; each controller derives its own (default 0)",
            ),
            *NODE_JSON,
        ),
    ),
    Task(
        "export",
        "fleet.controller_commands:export_controllers",
        "export a fleet file and the settings of controllers, without secrets",
        (
            argument("folder", metavar="FOLDER", type=Path, help="a new folder"),
            MEMBERS,
            TAG,
            *NODE_JSON,
        ),
    ),
)
