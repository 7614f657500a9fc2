"""Arguments that several tasks of `leverframe fleet` take."""

from leverframe.command_line.task import AS_JSON, CA_FILE, argument, non_empty, several

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
