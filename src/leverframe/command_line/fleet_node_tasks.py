"""Tasks of `leverframe fleet` that run a node, and those for nodes that share a database."""

from leverframe.command_line.fleet_arguments import DATABASE, MEMBER, NODE, NODE_JSON
from leverframe.command_line.task import (
    AS_JSON,
    FOR_HOW_LONG,
    ONLY_FILE,
    ConfigUse,
    Task,
    argument,
)

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
                *("modbus_port", "snmp_port", "discovery", "mdns"),
                *("json", "log_level", "log_format"),
            )
        ),
    ),
    Task(
        "migrate",
        "fleet.cluster.commands:migrate_tables",
        "create or upgrade the tables of a fleet in PostgreSQL",
        (DATABASE,),
        description="""\
Create or upgrade the tables that nodes share, in one transaction. Nodes of the previous version
keep working with them.
""",
    ),
    Task(
        "nodes",
        "fleet.cluster.commands:list_nodes",
        "list the nodes that share the database of a node",
        NODE_JSON,
    ),
    Task(
        "drain",
        "fleet.cluster.commands:drain_node",
        "move all controllers of a node to the other nodes, and wait until it is empty",
        (
            *NODE,
            argument("drained", metavar="NODE", help="name of the node"),
            argument("--undo", action="store_true", help="let the node have controllers again"),
        ),
        description="""\
Move all controllers of a node to the other nodes and wait. The node stays empty, even after a
restart, until you run the task with --undo.
""",
    ),
    Task(
        "forget",
        "fleet.cluster.commands:forget_node",
        "remove a stopped node from the list",
        (
            *NODE,
            argument("forgotten", metavar="NODE", help="name of the node"),
        ),
        description="""\
Remove a node from the list that is stopped for good. If it is started again, it joins as a new node
and gets its share of controllers.
""",
    ),
    Task(
        "move",
        "fleet.cluster.commands:move_controller",
        "pin a controller to a node while that node is alive",
        (
            *NODE,
            MEMBER,
            argument("to", metavar="NODE", nargs="?", help="name of the node (default: any)"),
        ),
    ),
    Task(
        "simulate",
        "fleet.fleet_scenario:simulate_fleet",
        "run a fleet file with [[at]] tables on virtual time",
        (
            FOR_HOW_LONG,
            AS_JSON,
        ),
        """\
Run a fleet file on virtual time. Its [[at]] tables describe the events: time, name or tag of the
controllers, sim, commands. No port is opened and nothing is stored. Two runs with the same events
print the same digest at the end.
""",
        config=ONLY_FILE,
        exit_status="0 if no controller rejected a command, 1 if any did",
    ),
)
