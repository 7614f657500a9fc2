"""`leverframe fleet`: many controllers in one process."""

from pathlib import Path

from leverframe.command_line.task import (
    AS_JSON,
    CA_FILE,
    DATA,
    ONLY_FILE,
    Group,
    Task,
    argument,
    duration,
    step,
)
from leverframe.durations import DAY_S

_NODE = (
    argument(
        "--node",
        metavar="URL",
        default="http://127.0.0.1:8080",
        help="where the node answers (default http://127.0.0.1:8080)",
    ),
    argument("--user", metavar="NAME", help="sign in; the password is asked for"),
    CA_FILE,
)
_NODE_JSON = (*_NODE, AS_JSON)
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
_DATABASE = argument(
    "--database",
    metavar="WHERE",
    required=True,
    help="as for psql: host=... dbname=..., or a URL",
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
were added before start, too: all are kept in one file of the data folder, or in a database that
several nodes share: then each takes its part, and those of a node that dies.
""",
            arguments=(
                argument(
                    "--database",
                    metavar="WHERE",
                    help="PostgreSQL that nodes share, as for psql: host=... dbname=..., or a URL",
                ),
                argument("--node", metavar="NAME", help="its name (default: the machine's)"),
                argument(
                    "--inner",
                    metavar="HOST:PORT",
                    help="where the other nodes reach it (default 127.0.0.1, any port)",
                ),
                argument(
                    "--capacity",
                    metavar="N",
                    type=int,
                    help="what it carries in proportion to the others (default 1)",
                ),
            ),
            takes_config=True,
            config_keys=(
                *("host", "port", "hosts", "tls", "tls_certificate", "tls_key", "data"),
                *("timezone", "virtual_time", "virtual_start", "lenient", "capture"),
                *("modbus_port", "snmp_port", "discovery", "mdns"),
                *("json", "log_level", "log_format"),
            ),
        ),
        Task(
            "migrate",
            "fleet.cluster.commands:migrate_tables",
            "make the tables of a fleet in PostgreSQL, or bring them up to date",
            (_DATABASE,),
            description="""\
Make the tables that nodes share, or bring them up to date, in one step or not at all. Nodes of the
version before go on working with them.
""",
        ),
        Task(
            "nodes",
            "fleet.cluster.commands:list_nodes",
            "show the nodes that share the database of a node",
            _NODE_JSON,
        ),
        Task(
            "drain",
            "fleet.cluster.commands:drain_node",
            "let the other nodes take over all controllers of a node, and wait until it is empty",
            (
                *_NODE,
                argument("drained", metavar="NODE", help="the name of the node"),
                argument("--undo", action="store_true", help="let it have its share again"),
            ),
            description="""\
Empty a node and wait. It stays empty, also when it is started anew, until that is undone.
""",
        ),
        Task(
            "move",
            "fleet.cluster.commands:move_controller",
            "let a node have a controller as long as it lives",
            (
                *_NODE,
                _MEMBER,
                argument("to", metavar="NODE", nargs="?", help="the node (default: any)"),
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
                    type=duration,
                    default=DAY_S,
                    help="how long, like 90s, 1h30m or 7d (default 24h)",
                ),
                AS_JSON,
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
                argument("--tenant", metavar="TENANT", help="whose they are"),
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
                argument(
                    "--template", metavar="FILE", type=Path, help="plan: a backup to take over"
                ),
                argument(
                    "--name",
                    action="append",
                    default=[],
                    metavar="NAME",
                    help="plan: only this controller; may be given several times",
                ),
                _TAG,
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
                    action="store_true",
                    help="plan: do not look for new findings after each group",
                ),
                argument("--no-snapshot", action="store_true", help="plan: without a way back"),
                argument("--dry-run", action="store_true", help="plan: only say who would refuse"),
                *_NODE_JSON,
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
                _MEMBERS,
                _TAG,
                *_NODE_JSON,
            ),
        ),
        Task(
            "changes",
            "fleet.rollout_commands:show_changes",
            "tell who changed what on which controller, newest first",
            (
                _MEMBERS,
                _TAG,
                argument("--by", metavar="ACCOUNT", help="only what this account has changed"),
                argument(
                    "--since", metavar="TIME", help="like 24h, or a moment like 2026-03-29T03:00"
                ),
                argument("--count", metavar="NUMBER", type=int, help="how many (default 200)"),
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
            "take a snapshot of controllers, which is kept with the node",
            (argument("label", metavar="LABEL"), _MEMBERS, _TAG, *_NODE_JSON),
        ),
        Task(
            "restore",
            "fleet.commands:restore_snapshot",
            "let controllers go on from a snapshot, or start anew with it",
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
            "tenant",
            "fleet.tenant_commands:tenants",
            "share the controllers out among tenants, whose people see only what is theirs",
            (
                argument(
                    "what",
                    metavar="WHAT",
                    choices=("add", "list", "remove", "give"),
                    help="add, list, remove or give",
                ),
                argument("tenant", metavar="TENANT", nargs="?", help="the name of the tenant"),
                argument(
                    "names",
                    metavar="NAME",
                    nargs="*",
                    help="give: controllers that belong to it from now on",
                ),
                _TAG,
                argument(
                    "--max",
                    dest="most",
                    type=int,
                    metavar="NUMBER",
                    help="add: controllers that it may have by what its own people add"
                    " (default 100)",
                ),
                *_NODE_JSON,
            ),
            """\
Every controller belongs to one tenant, or to the operator alone (`give ''` takes it back). `add`
with a tenant that is there changes how many controllers it may add; `remove` refuses one that still
has controllers or accounts.
""",
        ),
        Task(
            "account",
            "fleet.tenant_commands:accounts",
            "make accounts for people of tenants and of the operator",
            (
                argument(
                    "what",
                    metavar="WHAT",
                    choices=("add", "list", "remove", "password"),
                    help="add, list, remove or password",
                ),
                argument("name", metavar="NAME", nargs="?", help="the name of the account"),
                argument("--tenant", metavar="TENANT", help="add: whose (default: the operator)"),
                argument(
                    "--role",
                    choices=("administrator", "user"),
                    help="add: administrator, or user, who sees and switches (default user)",
                ),
                *_NODE_JSON,
            ),
            """\
Accounts at the node itself; each controller has its own. Passwords are made by the node and shown
once; `password` makes another one, of one's own account without NAME. From the first account on
everybody has to sign in, with --user.
""",
        ),
        Task(
            "map",
            "fleet.cluster.haproxy_map:map_controllers",
            "print which node has which controller, or tell a running HAProxy",
            (
                argument(
                    "--domain",
                    metavar="NAME",
                    required=True,
                    help="the name below which controllers are asked for, like fleet.example",
                ),
                argument(
                    "--haproxy",
                    metavar="SOCKET",
                    help="give the map to the HAProxy with this admin socket",
                ),
                argument(
                    "--file",
                    metavar="FILE",
                    default="/etc/haproxy/fleet.map",
                    help="the file that its configuration names (default /etc/haproxy/fleet.map)",
                ),
                argument(
                    "--every",
                    type=step,
                    metavar="DURATION",
                    help="go on until it is stopped: look so often, and tell what is different",
                ),
                *_NODE,
            ),
            """\
Print a line for each controller of a fleet with several nodes: the host name and the node. With
--haproxy nothing is printed but what was done: a running HAProxy goes by the new map at once, and
its file stays as it is. An old map does no harm: each node leads to the one that has a controller.
""",
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
