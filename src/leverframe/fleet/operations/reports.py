"""What a node tells: of itself, of its controllers, and figures of all."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leverframe.fleet.progress import ProgressReport
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.tenants import Role
from leverframe.profile import HARDWARE, newest_software
from leverframe.storage.backup import BackupFile

_NEWEST = {hw: newest_software(hw) for hw in HARDWARE}


class MemberReport(Struct, frozen=True):
    """A controller in the list of a node."""

    name: str
    tags: tuple[str, ...]
    tenant: Annotated[str, Meta(description="Whose it is; empty for the operator alone.")]
    hw: str
    sw: str
    status: Annotated[
        Literal["ok", "degraded", "unknown"],
        Meta(description="`unknown` where its node does not answer."),
    ]
    troubles: list[str]
    time: Annotated[
        float | None, Meta(description="By its clock, in seconds since 1970; null if unknown.")
    ]
    url: Annotated[str, Meta(description="Where its pages and commands are.")]
    address: str | None
    port: int | None
    node: Annotated[
        str | None, Meta(description="The node that has it, where several share a database.")
    ] = None


class RenamedReport(MemberReport, frozen=True):
    is_made_anew: Annotated[
        bool,
        Meta(
            description="Whether the file of the node names the old one: as long as it does, each"
            " start makes another controller of that name where there is none."
        ),
    ] = False


class MemberDetails(Struct, frozen=True):
    report: MemberReport
    mac: str
    board: str
    uptime: float
    settings: Annotated[
        dict[str, Any], Meta(description="What differs from the factory settings, by path.")
    ]


class NodeReport(Struct, frozen=True):
    version: str
    controllers: int
    degraded: int
    tags: Annotated[dict[str, int], Meta(description="How many controllers have each.")]
    virtual: bool
    time: float
    newest: Annotated[dict[str, str], Meta(description="The newest software by hardware version.")]
    rate: Annotated[float, Meta(description="Of virtual time that runs; 0 while it stands.")]
    snapshots: list[str]
    troubles: Annotated[
        list[str], Meta(description="What is wrong with the node itself, in sentences.")
    ]
    account: Annotated[str, Meta(description="Who asks; empty where nobody has to sign in.")]
    role: Role
    tenant: Annotated[str | None, Meta(description="Whose people ask; null for the operator.")]
    # A node of an older program does not tell these.
    versions: Annotated[
        dict[str, int], Meta(description="How many have hardware and software such as 3.9/1.75.")
    ] = {}
    tenants: Annotated[
        dict[str, int], Meta(description="How many each tenant has; told to the operator.")
    ] = {}
    timezone: Annotated[str, Meta(description="Of the node, such as `Europe/Warsaw`.")] = ""
    not_started: Annotated[
        list[str],
        Meta(description="Why, for each controller that did not start; told to the operator."),
    ] = []
    can_start: Annotated[
        list[str],
        Meta(
            description="The names of those that `/api/fleet/start` tries again; told to the"
            " operator."
        ),
    ] = []
    starting: Annotated[
        ProgressReport | None,
        Meta(description="How many controllers run, until all were started; null after that."),
    ] = None


class AdvanceReport(NodeReport, frozen=True):
    """The node after time was moved, and whom it was moved for."""

    moved: Annotated[int, Meta(description="How many controllers it was moved for.")] = 0
    moved_s: Annotated[float, Meta(description="By how much at most, in seconds.")] = 0.0
    earliest: Annotated[
        float | None, Meta(description="The earliest time that one of these has now.")
    ] = None
    latest: Annotated[float | None, Meta(description="The latest one, likewise.")] = None
    # A node of an older program does not tell it.
    due: Annotated[
        int | None,
        Meta(description="For how many something was due; null where time was moved by no step."),
    ] = None


class ExportedController(Struct, frozen=True):
    """A controller as a fleet file and a settings file describe it; without secrets."""

    record: MemberRecord
    settings: BackupFile


class NodeHealth(Struct, frozen=True):
    status: Annotated[
        Literal["ok", "degraded", "starting", "stopping"],
        Meta(
            description="`starting` until all controllers were started, and `stopping` from when"
            " the first is stopped, both with HTTP status 503."
        ),
    ]
    controllers: Annotated[
        int | None, Meta(description="How many; null where there are tenants, as for their health.")
    ]
    findings: Annotated[
        int | UnsetType, Meta(description="How many there are about the node itself, if any.")
    ] = UNSET
    of: Annotated[
        int | None | UnsetType,
        Meta(
            description="How many it is to have, while it starts, or had before its stop; null as"
            " the other number."
        ),
    ] = UNSET


class MadeReport(Struct, frozen=True):
    names: list[str]
    dry_run: bool
    password: Annotated[
        str | None,
        Meta(description="Of their administrators, shown this once; null where none is asked for."),
    ] = None
