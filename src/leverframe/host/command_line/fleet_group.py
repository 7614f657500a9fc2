"""`leverframe fleet`: many controllers in one process."""

from pathlib import Path

from leverframe.host.command_line.fleet_controller_tasks import (
    CONTROLLER_TASKS,
    DATABASE,
    MEMBER,
    MEMBERS,
    NEW_TAG,
    NODE,
    NODE_JSON,
    OPEN,
    TAG,
)
from leverframe.host.command_line.task import (
    AS_JSON,
    DATA,
    FOR_HOW_LONG,
    ONLY_FILE,
    ConfigUse,
    Group,
    Task,
    argument,
    non_empty,
    step,
)

# Tasks of `leverframe fleet` that run a node, and those for nodes that share a database.

NODE_TASKS = (
    Task(
        "run",
        "fleet.serve:run_fleet",
        "run a node with the controllers of a fleet file and those added later",
        description="""\
Run a node. The fleet file contains the keys of `leverframe run` that apply to all controllers, and
a [[controllers]] table for each controller: name, tags, hw, sw, settings (a backup with the initial
settings), address, port, board, tenant, and keys for devices, files and networks of the machine,
such as serial_port. A mistake in one controller is reported with its name and line; the rest start.

Controllers that were added later start, too. They are stored in one file in the data folder, or in
a database that several nodes share. Nodes that share a database divide the controllers among
themselves and take over those of a failed node.
""",
        arguments=(
            argument(
                "--database",
                metavar="WHERE",
                help="PostgreSQL that nodes share, as for psql: host=... dbname=..., or a URL",
            ),
            argument(
                "--node", metavar="NAME", help="name of the node (default: the machine's name)"
            ),
            argument(
                "--inner",
                metavar="HOST:PORT",
                help="address for requests from the other nodes (default 127.0.0.1, any port)",
            ),
            argument(
                "--capacity",
                metavar="N",
                type=int,
                help="share of controllers relative to the other nodes (default 1)",
            ),
        ),
        config=ConfigUse(
            (
                *("host", "port", "hosts", "tls", "tls_certificate", "tls_key", "data"),
                *("timezone", "virtual_time", "virtual_start", "lenient", "capture"),
                *("modbus_port", "snmp_port", "discovery", "mdns", "allow_local_targets"),
                *("json", "log_level", "log_format"),
            )
        ),
    ),
    Task(
        "migrate",
        "fleet.node_commands:migrate_tables",
        "create or upgrade the tables of a fleet in PostgreSQL",
        (DATABASE,),
        description="""\
Create or upgrade the tables that nodes share, in one transaction. Nodes of the previous version
keep working with these tables.
""",
    ),
    Task(
        "nodes",
        "fleet.node_commands:list_nodes",
        "list the nodes that share the database of a node",
        NODE_JSON,
    ),
    Task(
        "drain",
        "fleet.node_commands:drain_node",
        "move all controllers of a node to the other nodes, and wait until it is empty",
        (
            *NODE,
            argument("drained", metavar="NODE", help="name of the node"),
            argument("--undo", action="store_true", help="let the node accept controllers again"),
        ),
        description="""\
Move all controllers of a node to the other nodes and wait. The node stays empty, even after a
restart, until you run the task with --undo.
""",
    ),
    Task(
        "forget",
        "fleet.node_commands:forget_node",
        "remove a stopped node from the list",
        (
            *NODE,
            argument("forgotten", metavar="NODE", help="name of the node"),
        ),
        description="""\
Remove a permanently stopped node from the list. If it is started again, it joins as a new node
and gets its share of controllers.
""",
    ),
    Task(
        "move",
        "fleet.node_commands:move_controller",
        "pin a controller to a node while that node is alive",
        (
            *NODE,
            MEMBER,
            argument("to", metavar="NODE", nargs="?", help="name of the node (default: any)"),
        ),
    ),
    Task(
        "simulate",
        "fleet.scenario:simulate_fleet",
        "run a fleet file with [[at]] tables in virtual time",
        (
            FOR_HOW_LONG,
            AS_JSON,
        ),
        """\
Run a fleet file in virtual time. Its [[at]] tables describe the events: time, name or tag of the
controllers, sim, commands. No port is opened and nothing is stored. Two runs with the same events
print the same digest at the end.
""",
        config=ONLY_FILE,
        exit_status="0 if no controller rejected a command, 1 if any did",
    ),
)


# Tasks of `leverframe fleet` for its operator: tenants, accounts, proxies, moving controllers.

OPERATOR_TASKS = (
    Task(
        "tenant",
        "fleet.operator_commands:tenants",
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
        "fleet.operator_commands:accounts",
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
        "fleet.operator_commands:protect",
        "require sign-in on controllers that have no password",
        (MEMBERS, TAG, *NODE_JSON),
        """\
Create an administrator on each controller that has no password. Controllers of one tenant get the
same password, which is shown once. Controllers that already require sign-in are not changed.
""",
    ),
    Task(
        "map",
        "fleet.node_commands:map_controllers",
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
                help="map file named in the configuration of HAProxy (default"
                " /etc/haproxy/fleet.map)",
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
        "fleet.node_commands:adopt",
        "add the controller of a data folder to a stopped node",
        (
            argument("folder", metavar="FOLDER", type=Path, help="data folder of the controller"),
            argument(
                "--name",
                metavar="NAME",
                help="new name of the controller (default: its present name)",
            ),
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
        "fleet.node_commands:release",
        "move a controller of a stopped node to its own data folder",
        (
            MEMBER,
            argument("--to", metavar="FOLDER", type=Path, required=True, help="new data folder"),
        ),
        """\
Move a controller to a folder for `leverframe run`, with everything that `fleet adopt` copies. The
node must be stopped. The controller is removed from the node once everything is in the new folder.
""",
        config=DATA,
    ),
)


FLEET = Group(
    "fleet",
    "run and manage many controllers in one process",
    """\
Run and manage many controllers in one process, a node. Each controller is available under its name
(NAME.localhost) and can have its own port or its own address in 127.0.0.0/8. Bulk commands exit
with status 1 if any controller rejects them, and list each one with the reason.

  leverframe fleet run --virtual-time                          an empty node on port 8080
  leverframe fleet add --count 1000 --template greenhouse.toml --name 'gh-{n}' --tag north
  leverframe fleet send 'outs.cgi?out0=1' --tag north --dry-run
  leverframe fleet advance 1h
  leverframe fleet list --json
""",
    (*NODE_TASKS, *CONTROLLER_TASKS, *OPERATOR_TASKS),
)
