"""Every command of the program, in the order of the help."""

from leverframe.command_line.controller_tasks import (
    LIST_COMMANDS,
    PASSWD,
    RECORD,
    REPLAY,
    RUN,
    SIMULATE,
    WHAT_IF,
)
from leverframe.command_line.fleet_group import FLEET
from leverframe.command_line.maintenance_groups import (
    BACKUP,
    BOARD,
    COMPLETION,
    CONFIG,
    DATA_FOLDER,
    FIRMWARE,
    SITE,
)
from leverframe.command_line.task import Group, Task
from leverframe.command_line.unit_group import UNIT

COMMANDS: tuple[Task | Group, ...] = (
    RUN,
    FLEET,
    SIMULATE,
    WHAT_IF,
    RECORD,
    REPLAY,
    UNIT,
    LIST_COMMANDS,
    PASSWD,
    CONFIG,
    BOARD,
    SITE,
    FIRMWARE,
    BACKUP,
    DATA_FOLDER,
    COMPLETION,
)
