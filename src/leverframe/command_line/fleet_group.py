"""`leverframe fleet`: many controllers in one process."""

from leverframe.command_line.fleet_controller_tasks import CONTROLLER_TASKS
from leverframe.command_line.fleet_node_tasks import NODE_TASKS
from leverframe.command_line.fleet_operator_tasks import OPERATOR_TASKS
from leverframe.command_line.task import Group

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
    (*NODE_TASKS, *CONTROLLER_TASKS, *OPERATOR_TASKS),
)
