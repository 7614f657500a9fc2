"""Arguments that several tasks of `leverframe fleet` take."""

from leverframe.command_line.task import AS_JSON, CA_FILE, argument, filled, several

NODE = (
    argument(
        "--node",
        metavar="URL",
        default="http://127.0.0.1:8080",
        help="where the node answers (default http://127.0.0.1:8080)",
    ),
    argument(
        "--user",
        metavar="NAME",
        help="sign in; the password is asked for, or read from standard input",
    ),
    CA_FILE,
)
NODE_JSON = (*NODE, AS_JSON)
MEMBER = argument("name", metavar="NAME", type=filled)
MEMBERS = argument(
    "name", metavar="NAME", nargs="*", type=filled, help="controllers (default: all)"
)
LABEL = argument("label", metavar="LABEL", type=filled)
TAG = several("--tag", "TAG", "only those that have this tag; may be given several times")
NEW_TAG = several("--tag", "TAG", "a tag for them; likewise again", dest="tags")
DATABASE = argument(
    "--database",
    metavar="WHERE",
    required=True,
    help="as for psql: host=... dbname=..., or a URL",
)
MADE_NAME = "a name, with {n} or {n:03} for the number"
OPEN = argument(
    "--open",
    action="store_true",
    help="add: leave controllers open to every user of the machine of the node",
)
