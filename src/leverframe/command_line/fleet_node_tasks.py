"""Tasks of `leverframe fleet` that run a node, and what nodes share."""

from leverframe.command_line.fleet_arguments import DATABASE, MEMBER, NODE, NODE_JSON
from leverframe.command_line.task import (
    AS_JSON,
    FOR_HOW_LONG,
    ONLY_FILE,
    TakenConfig,
    Task,
    argument,
)

NODE_TASKS = (
    Task(
        "run",
        "fleet.serve:run_fleet",
        "run a node with the controllers of a file and those that were added",
        description="""\
Run a node. The file has keys of `leverframe run` that concern all controllers, and each controller
as a [[controllers]] table: name, tags, hw, sw, settings (a backup to begin with), address, port,
board, tenant, and keys for devices, files and networks of the machine, such as serial_port. A
mistake in one controller is reported with its name and line, and the others start. Controllers that
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
        config=TakenConfig(
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
        "make the tables of a fleet in PostgreSQL, or bring them up to date",
        (DATABASE,),
        description="""\
Make the tables that nodes share, or bring them up to date, in one step or not at all. Nodes of the
version before go on working with them.
""",
    ),
    Task(
        "nodes",
        "fleet.cluster.commands:list_nodes",
        "show the nodes that share the database of a node",
        NODE_JSON,
    ),
    Task(
        "drain",
        "fleet.cluster.commands:drain_node",
        "let the other nodes take over all controllers of a node, and wait until it is empty",
        (
            *NODE,
            argument("drained", metavar="NODE", help="the name of the node"),
            argument("--undo", action="store_true", help="let it have its share again"),
        ),
        description="""\
Empty a node and wait. It stays empty, also when it is started anew, until that is undone.
""",
    ),
    Task(
        "forget",
        "fleet.cluster.commands:forget_node",
        "take a node that has ended off the list",
        (
            *NODE,
            argument("forgotten", metavar="NODE", help="the name of the node"),
        ),
        description="""\
Take a node that is stopped or dead, and is not to come back, off the list. Started again it is a
new one, and has its share.
""",
    ),
    Task(
        "move",
        "fleet.cluster.commands:move_controller",
        "let a node have a controller as long as it lives",
        (
            *NODE,
            MEMBER,
            argument("to", metavar="NODE", nargs="?", help="the node (default: any)"),
        ),
    ),
    Task(
        "simulate",
        "fleet.fleet_scenario:simulate_fleet",
        "live through a fleet file with [[at]] tables, on virtual time; ends with 1 if one"
        " refuses something",
        (
            FOR_HOW_LONG,
            AS_JSON,
        ),
        """\
Live through a fleet file in which [[at]] tables say what happens when, and to whom: time, name or
tag, sim, commands. Nothing listens, and nothing is kept. The digest at the end is the same in every
run in which the same happened.
""",
        config=ONLY_FILE,
    ),
)
