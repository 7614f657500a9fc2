"""Tasks of `leverframe fleet` for its operator: tenants, accounts, proxies, moving controllers."""

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
from leverframe.command_line.task import DATA, Task, argument, non_empty, step

OPERATOR_TASKS = (
    Task(
        "tenant",
        "fleet.tenant_commands:tenants",
        "divide controllers among tenants, whose users see only their own",
        (
            argument(
                "what",
                metavar="WHAT",
                choices=("add", "list", "remove", "give"),
                help="add, list, remove or give",
            ),
            argument("tenant", metavar="TENANT", nargs="?", help="name of the tenant"),
            argument(
                "names",
                metavar="NAME",
                nargs="*",
                type=non_empty,
                help="give: controllers to assign to the tenant",
            ),
            TAG,
            argument(
                "--max",
                dest="most",
                type=int,
                metavar="NUMBER",
                help="add: maximum number of controllers its own users may create (default 100)",
            ),
            OPEN,
            *NODE_JSON,
        ),
        """\
Every controller belongs to one tenant, or to the operator (`give ''` returns it to the operator).
`add` with an existing tenant changes its maximum number of controllers. `remove` requires that the
tenant has no controllers and no accounts.

When you add the first tenant to a node on loopback, each controller without a password gets an
administrator, and its password is shown once. Use --open to leave these controllers as they are.
""",
    ),
    Task(
        "account",
        "fleet.tenant_commands:accounts",
        "create accounts for users of tenants and of the operator",
        (
            argument(
                "what",
                metavar="WHAT",
                choices=("add", "list", "remove", "password"),
                help="add, list, remove or password",
            ),
            argument("name", metavar="NAME", nargs="?", help="name of the account"),
            argument(
                "--tenant", metavar="TENANT", help="add: tenant of the account (default: operator)"
            ),
            argument(
                "--role",
                choices=("administrator", "user"),
                help="add: administrator, or user, who can view and switch (default user)",
            ),
            OPEN,
            *NODE_JSON,
        ),
        """\
Manage the accounts of the node; each controller has its own accounts. The node generates passwords
and shows them once. `password` generates a new password, without NAME for your own account.

After the first account is added, all users must sign in (--user). At that point each controller
without a password gets an administrator, and its password is shown once. Use --open to leave these
controllers as they are.
""",
    ),
    Task(
        "protect",
        "fleet.tenant_commands:protect",
        "require sign-in on controllers that have no password",
        (MEMBERS, TAG, *NODE_JSON),
        """\
Create an administrator on each controller that has no password. Controllers of one tenant get the
same password, which is shown once. Controllers that already require sign-in are not changed.
""",
    ),
    Task(
        "map",
        "fleet.cluster.haproxy_map:map_controllers",
        "print the map of controllers to nodes, or load it into HAProxy",
        (
            argument(
                "--domain",
                metavar="NAME",
                required=True,
                help="domain of the controllers' host names, like fleet.example",
            ),
            argument(
                "--haproxy",
                metavar="SOCKET",
                help="load the map into the running HAProxy with this admin socket",
            ),
            argument(
                "--file",
                metavar="FILE",
                default="/etc/haproxy/fleet.map",
                help="map file named in its configuration (default /etc/haproxy/fleet.map)",
            ),
            argument(
                "--every",
                type=step,
                metavar="DURATION",
                help="keep running, update the map at this interval, and print each change",
            ),
            *NODE,
        ),
        """\
Print a line with host name and node for each controller of a fleet with several nodes. With
--haproxy, load the map into a running HAProxy instead, which uses it immediately, and print only
what changed; the map file is not written. An outdated map does no harm: every node forwards
requests to the node that has the controller.
""",
    ),
    Task(
        "adopt",
        "fleet.moving:adopt",
        "add the controller of a data folder to a stopped node",
        (
            argument("folder", metavar="FOLDER", type=Path, help="data folder of the controller"),
            argument("--name", metavar="NAME", help="its new name (default: its present name)"),
            NEW_TAG,
        ),
        """\
Copy a standalone controller into a node, with settings, secrets, remembered state, uploads, queued
messages, audit trail and history. Both must be stopped. The folder is not changed.
""",
        config=DATA,
    ),
    Task(
        "release",
        "fleet.moving:release",
        "move a controller of a stopped node to its own data folder",
        (
            MEMBER,
            argument("--to", metavar="FOLDER", type=Path, required=True, help="new data folder"),
        ),
        """\
Move a controller to a folder for `leverframe run`, with everything that `fleet adopt` copies. The
node must be stopped. It removes the controller once everything is in the new folder.
""",
        config=DATA,
    ),
)
