"""The argument of every function of the endpoint table: a request, its account, its handlers."""

import msgspec
from msgspec import Struct

from leverframe.commands.table.rights import Account
from leverframe.controller import Controller
from leverframe.servers.http.messages import Request
from leverframe.servers.routes.admission import Admission
from leverframe.servers.routes.backups import BackupEndpoint
from leverframe.servers.routes.bounded_requests import ControllerWork
from leverframe.servers.routes.commands import CommandEndpoint
from leverframe.servers.routes.sign_in import SignInEndpoint
from leverframe.servers.routes.sim import SimCommands
from leverframe.servers.routes.sim_snapshots import SimSnapshots
from leverframe.servers.routes.status_files import StatusFiles
from leverframe.servers.routes.stream_shares import StreamShares
from leverframe.servers.routes.uploaded import Uploads


class Handlers(Struct, frozen=True):
    """The parts with a state of their own that answer requests to one controller."""

    admission: Admission
    commands: CommandEndpoint
    backups: BackupEndpoint
    sign_in: SignInEndpoint
    uploads: Uploads
    status_files: StatusFiles
    streams: StreamShares
    #: What runs in processes of its own.
    work: ControllerWork
    #: None where the board is not simulated.
    sim: SimCommands | None
    snapshots: SimSnapshots | None


class Context(msgspec.Struct, frozen=True, gc=False, eq=False):
    request: Request
    account: Account
    controller: Controller
    handlers: Handlers
