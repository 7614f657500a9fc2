"""`leverframe fleet`: many controllers in one process."""

from leverframe.command_line.fleet_controller_tasks import CONTROLLER_TASKS
from leverframe.command_line.fleet_node_tasks import NODE_TASKS
from leverframe.command_line.fleet_operator_tasks import OPERATOR_TASKS
from leverframe.command_line.task import Group

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
