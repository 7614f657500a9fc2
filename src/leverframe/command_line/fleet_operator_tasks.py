"""Tasks of `leverframe fleet` for its operator: people, the way in, controllers that move."""

from pathlib import Path

from leverframe.command_line.fleet_arguments import (
    MEMBER,
    MEMBERS,
    NEW_TAG,
    NODE,
    NODE_JSON,
    OPEN,
    TAG,
)
from leverframe.command_line.task import DATA, Task, argument, filled, step

OPERATOR_TASKS = (
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
                type=filled,
                help="give: controllers that belong to it from now on",
            ),
            TAG,
            argument(
                "--max",
                dest="most",
                type=int,
                metavar="NUMBER",
                help="add: controllers that it may have by what its own people add (default 100)",
            ),
            OPEN,
            *NODE_JSON,
        ),
        """\
Every controller belongs to one tenant, or to the operator alone (`give ''` takes it back). `add`
with a tenant that is there changes how many controllers it may add; `remove` refuses one that still
has controllers or accounts. With the first tenant of a node on loopback, controllers that are open
to every user of the machine get an administrator each, and the password is shown once; --open
leaves them as they are.
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
            OPEN,
            *NODE_JSON,
        ),
        """\
Accounts at the node itself; each controller has its own. Passwords are made by the node and shown
once; `password` makes another one, of one's own account without NAME. From the first account
on all users have to sign in, with --user. With it, controllers that are open to every user of the
machine get an administrator each, and the password is shown once; --open leaves them as they are.
""",
    ),
    Task(
        "protect",
        "fleet.tenant_commands:protect",
        "let controllers require sign-in that are open to every user of the machine",
        (MEMBERS, TAG, *NODE_JSON),
        """\
A controller without a password gets an administrator. Those of one tenant have the same password,
which is shown once. Controllers that require sign-in stay as they are.
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
            *NODE,
        ),
        """\
Print a line for each controller of a fleet with several nodes: the host name and the node. With
--haproxy nothing is printed but what was done: a running HAProxy goes by the new map at once, and
its file stays as it is. An old map does no harm: each node leads to the one that has a controller.
""",
    ),
    Task(
        "adopt",
        "fleet.moving:adopt",
        "take the controller of a data folder into a node that is stopped",
        (
            argument("folder", metavar="FOLDER", type=Path, help="its data folder"),
            argument("--name", metavar="NAME", help="its name (default: the one that it has)"),
            NEW_TAG,
        ),
        """\
Take a controller that has run by itself into a node, with settings, secrets, remembered state,
uploads, waiting messages, audit trail and history. Both are stopped. The folder stays as it is.
""",
        config=DATA,
    ),
    Task(
        "release",
        "fleet.moving:release",
        "move a controller of a node that is stopped to a data folder of its own",
        (
            MEMBER,
            argument("--to", metavar="FOLDER", type=Path, required=True, help="a new folder"),
        ),
        """\
Move a controller to a folder for `leverframe run`, with all that `fleet adopt` takes along. The
node, which is stopped, forgets it when everything is in its new place.
""",
        config=DATA,
    ),
)
