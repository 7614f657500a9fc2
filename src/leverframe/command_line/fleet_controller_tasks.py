"""Tasks of `leverframe fleet` that concern the controllers of a node."""

from pathlib import Path

from leverframe.command_line.fleet_arguments import (
    LABEL,
    MADE_NAME,
    MEMBER,
    MEMBERS,
    NEW_TAG,
    NODE_JSON,
    OPEN,
    TAG,
)
from leverframe.command_line.task import Needed, Task, argument, filled, several

#: As a node takes it: what is false is not said to it.
NOT_WANTED = "0"
FIRST = argument(
    "--first",
    type=int,
    default=1,
    metavar="NUMBER",
    help="the number of the first (default 1)",
)
NEW_PLACES = (
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
)

CONTROLLER_TASKS = (
    Task(
        "add",
        "fleet.commands:add_controllers",
        "make controllers",
        (
            argument("--name", metavar="NAME", required=True, type=filled, help=MADE_NAME),
            argument("--count", type=int, default=1, metavar="NUMBER", help="how many"),
            FIRST,
            argument("--template", metavar="FILE", type=Path, help="a backup that they begin with"),
            argument("--hw", metavar="VERSION", help="hardware version"),
            argument("--sw", metavar="VERSION", help="software version"),
            NEW_TAG,
            *NEW_PLACES,
            argument("--tenant", metavar="TENANT", help="whose they are"),
            OPEN,
            argument("--dry-run", action="store_true", help="only say whether it can be done"),
            *NODE_JSON,
        ),
    ),
    Task(
        "list",
        "fleet.commands:list_controllers",
        "list controllers with version, tags, health and address",
        (MEMBERS, TAG, *NODE_JSON),
    ),
    Task(
        "show",
        "fleet.commands:show_controller",
        "show a controller and its settings",
        (MEMBER, *NODE_JSON),
    ),
    Task(
        "remove",
        "fleet.commands:remove_controllers",
        "remove controllers with all that is stored of them",
        (
            argument("name", metavar="NAME", nargs="*", type=filled, help="controllers"),
            TAG,
            *NODE_JSON,
        ),
        needed=Needed(("name", "tag")),
    ),
    Task(
        "rename",
        "fleet.commands:rename_controller",
        "give a controller another name",
        (MEMBER, argument("to", metavar="NEW_NAME", type=filled), *NODE_JSON),
    ),
    Task(
        "place",
        "fleet.commands:place_controllers",
        "give controllers addresses or ports of their own, or take them away",
        (
            argument("names", metavar="NAME", nargs="+", type=filled, help="controllers"),
            argument(
                "--address",
                metavar="ADDRESS",
                help="of the first, the others have the next ones; none takes away what they have",
            ),
            argument(
                "--port",
                type=int,
                metavar="PORT",
                help="of the first, the others have the next ones; 0 takes away what they have",
            ),
            *NODE_JSON,
        ),
        """\
Give a controller that is there an address or a port at which it alone answers. It goes on with what
it does; its connections end. Where the fleet file names it, the file says where it is. Of several,
one after the other is given its place; where one cannot have it, those before it have theirs. One
that did not start is started at its new place.
""",
        needed=Needed(("address", "port")),
    ),
    Task(
        "start",
        "fleet.commands:start_controllers_again",
        "try again to start controllers that did not start; ends with 1 if some still do not",
        (
            argument(
                "names",
                metavar="NAME",
                nargs="*",
                type=filled,
                help="controllers; without a name all that did not start",
            ),
            *NODE_JSON,
        ),
    ),
    Task(
        "tag",
        "fleet.commands:tag_controllers",
        "give tags to controllers, or take them away",
        (
            MEMBERS,
            TAG,
            several("--add", "TAG", "give them this tag"),
            several("--remove", "TAG", "take this tag from them"),
            *NODE_JSON,
        ),
        needed=Needed(("add", "remove")),
    ),
    Task(
        "send",
        "fleet.commands:send_command",
        "carry out a command on many controllers; ends with 1 if some refuse it",
        (
            argument(
                "command",
                metavar="COMMAND",
                type=filled,
                help="like 'outs.cgi?out0=1'; a body stands behind a space",
            ),
            MEMBERS,
            TAG,
            argument(
                "--dry-run", action="store_true", help="change nothing; say who would refuse it"
            ),
            argument(
                "--all-or-none",
                action="store_true",
                help="change nothing if one of them refuses it",
            ),
            *NODE_JSON,
        ),
    ),
    Task(
        "rollout",
        "fleet.rollout_commands:roll_out",
        "change many controllers in groups, with a way back; ends with 1 if some failed",
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
                help="of the roll-out; plan makes one itself",
            ),
            argument(
                "--command",
                metavar="COMMAND",
                action="append",
                default=[],
                help="plan: like 'stm.cgi?oname=0Pump'; several are one change",
            ),
            argument("--template", metavar="FILE", type=Path, help="plan: a backup to take over"),
            argument(
                "--name",
                action="append",
                default=[],
                metavar="NAME",
                help="plan: only this controller; may be given several times",
            ),
            TAG,
            argument(
                "--groups",
                metavar="SIZES",
                help="plan: like 1,10%%,rest (default: all at once)",
            ),
            argument(
                "--success",
                metavar="PERCENT",
                type=float,
                help="plan: how much of a group must have done it to go on (default 100)",
            ),
            argument(
                "--errors",
                metavar="NUMBER",
                help="plan: so many failures stop it, like 3, 5%% or none (default 10%%)",
            ),
            argument("--pause", metavar="TIME", help="plan: after each group, like 10m"),
            argument(
                "--no-health-check",
                dest="check_health",
                action="store_const",
                const=NOT_WANTED,
                help="plan: do not look for new findings after each group",
            ),
            argument(
                "--no-snapshot",
                dest="snapshot",
                action="store_const",
                const=NOT_WANTED,
                help="plan: without a way back",
            ),
            argument("--dry-run", action="store_true", help="plan: only say who would refuse"),
            *NODE_JSON,
        ),
        """\
Change many controllers in groups that follow each other. A plan is tried on all controllers, and
changes nothing until it is started. Each controller does it once, also when the node is killed on
the way: the next start goes on. `undo` gives those that were changed the settings they had before.
""",
    ),
    Task(
        "drift",
        "fleet.rollout_commands:show_drift",
        "tell in what controllers differ from a template; ends with 1 if some do",
        (
            argument("--template", metavar="FILE", type=Path, required=True, help="a backup"),
            MEMBERS,
            TAG,
            *NODE_JSON,
        ),
    ),
    Task(
        "changes",
        "fleet.rollout_commands:show_changes",
        "tell who changed what on which controller, newest first",
        (
            MEMBERS,
            TAG,
            argument("--by", metavar="ACCOUNT", help="only what this account has changed"),
            argument(
                "--since",
                metavar="TIME",
                help="like 24h, or a moment like 2026-03-29T03:00, by the time zone of the node",
            ),
            argument("--count", metavar="NUMBER", type=int, help="how many (default 200)"),
            *NODE_JSON,
        ),
    ),
    Task(
        "advance",
        "fleet.commands:advance_time",
        "move the virtual time of all controllers together",
        (
            argument(
                "duration", nargs="?", metavar="TIME", type=filled, help="like 90s, 1h30m or 7d"
            ),
            argument(
                "--to",
                metavar="MOMENT",
                type=filled,
                help="to a moment like 2026-03-29T03:00, by the time zone of the node",
            ),
            argument("--step", action="store_true", help="to the next moment at which one is due"),
            argument(
                "--rate", type=float, metavar="NUMBER", help="let it run, seconds in a second"
            ),
            argument("--freeze", action="store_true", help="let it stand still again"),
            TAG,
            *NODE_JSON,
        ),
        needed=Needed(("duration", "to", "step", "rate", "freeze"), only_one=True),
    ),
    Task(
        "snapshot",
        "fleet.snapshot_commands:take_snapshot_of",
        "take a snapshot of controllers, which is kept with the node",
        (LABEL, MEMBERS, TAG, *NODE_JSON),
    ),
    Task(
        "snapshots",
        "fleet.snapshot_commands:list_snapshots",
        "list snapshots: label, when taken, of how many controllers",
        NODE_JSON,
    ),
    Task(
        "remove-snapshot",
        "fleet.snapshot_commands:remove_snapshot",
        "remove a snapshot; the controllers stay as they are",
        (LABEL, *NODE_JSON),
    ),
    Task(
        "restore",
        "fleet.snapshot_commands:restore_snapshot",
        "let controllers go on from a snapshot, or start anew with it",
        (LABEL, MEMBERS, TAG, *NODE_JSON),
    ),
    Task(
        "fork",
        "fleet.commands:fork_controller",
        "make controllers that go on from where another one is",
        (
            MEMBER,
            argument("to", metavar="NEW_NAME", type=filled, help=MADE_NAME),
            argument("--count", type=int, default=1, metavar="NUMBER", help="how many"),
            FIRST,
            NEW_TAG,
            *NEW_PLACES,
            *NODE_JSON,
        ),
    ),
    Task(
        "fault",
        "fleet.commands:set_faults",
        "set a fault on controllers, or end all with none",
        (
            argument("fault", metavar="FAULT", type=filled, help="like 'slow*delay:5s', or none"),
            MEMBERS,
            TAG,
            argument(
                "--seed",
                type=int,
                default=0,
                metavar="NUMBER",
                help="what chance is made from, for each another one (default 0)",
            ),
            *NODE_JSON,
        ),
    ),
    Task(
        "export",
        "fleet.commands:export_controllers",
        "write a fleet file and the settings of controllers, without secrets",
        (
            argument("folder", metavar="FOLDER", type=Path, help="a new folder"),
            MEMBERS,
            TAG,
            *NODE_JSON,
        ),
    ),
)
