"""Reports of a node: about itself, its controllers, and sums over all."""

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
    tenant: Annotated[str, Meta(description="Its tenant; empty for the operator.")]
    hw: str
    sw: str
    status: Annotated[
        Literal["ok", "degraded", "unknown"],
        Meta(description="`unknown` if its node does not answer."),
    ]
    troubles: list[str]
    time: Annotated[
        float | None, Meta(description="By its clock, in seconds since 1970; null if unknown.")
    ]
    url: Annotated[str, Meta(description="The URL of its pages and commands.")]
    address: str | None
    port: int | None
    node: Annotated[
        str | None, Meta(description="The node that has it, if several share a database.")
    ] = None


class RenamedReport(MemberReport, frozen=True):
    is_made_anew: Annotated[
        bool,
        Meta(
            description="Whether the fleet file still has the old name: if so, the next start"
            " creates another controller of that name."
        ),
    ] = False


class MemberDetails(Struct, frozen=True):
    report: MemberReport
    mac: str
    board: str
    uptime: float
    settings: Annotated[
        dict[str, Any], Meta(description="Settings that differ from the factory settings, by path.")
    ]


class NodeReport(Struct, frozen=True):
    version: str
    controllers: int
    degraded: int
    tags: Annotated[dict[str, int], Meta(description="Number of controllers with each tag.")]
    virtual: bool
    time: float
    newest: Annotated[dict[str, str], Meta(description="The newest software by hardware version.")]
    rate: Annotated[float, Meta(description="Rate of running virtual time; 0 while it stands.")]
    snapshots: list[str]
    troubles: Annotated[list[str], Meta(description="Problems of the node itself, in sentences.")]
    account: Annotated[
        str, Meta(description=("The signed-in account; empty if no sign-in is required."))
    ]
    role: Role
    tenant: Annotated[
        str | None, Meta(description=("The tenant of the account; null for the operator."))
    ]
    # Nodes of older versions do not report these.
    versions: Annotated[
        dict[str, int],
        Meta(description=("Number of controllers by version, hardware/software such as 3.9/1.75.")),
    ] = {}
    tenants: Annotated[
        dict[str, int],
        Meta(description=("Number of controllers of each tenant; for the operator only.")),
    ] = {}
    timezone: Annotated[
        str, Meta(description=("Time zone of the node, such as `Europe/Warsaw`."))
    ] = ""
    not_started: Annotated[
        list[str],
        Meta(
            description=(
                "The reason for each controller that failed to start; for the operator only."
            )
        ),
    ] = []
    can_start: Annotated[
        list[str],
        Meta(
            description="Names of controllers that `/api/fleet/start` retries; for the operator"
            " only."
        ),
    ] = []
    starting: Annotated[
        ProgressReport | None,
        Meta(description="Number of running controllers until all are started; null after that."),
    ] = None


class AdvanceReport(NodeReport, frozen=True):
    """The node after time was moved, and the controllers that it was moved for."""

    moved: Annotated[int, Meta(description="Number of controllers whose time was moved.")] = 0
    moved_s: Annotated[float, Meta(description="The longest move, in seconds.")] = 0.0
    earliest: Annotated[
        float | None, Meta(description="The earliest present time of these controllers.")
    ] = None
    latest: Annotated[
        float | None, Meta(description=("The latest present time of these controllers."))
    ] = None
    # Nodes of older versions do not report it.
    due: Annotated[
        int | None,
        Meta(
            description=(
                "Number of controllers with a due task; null unless time was moved by a step."
            )
        ),
    ] = None


class ExportedController(Struct, frozen=True):
    """A controller as a fleet file and a settings file describe it; without secrets."""

    record: MemberRecord
    settings: BackupFile


class NodeHealth(Struct, frozen=True):
    status: Annotated[
        Literal["ok", "degraded", "starting", "stopping"],
        Meta(
            description="`starting` until all controllers are started, and `stopping` once the"
            " first is stopped, both with HTTP status 503."
        ),
    ]
    controllers: Annotated[
        int | None,
        Meta(
            description=("Number of controllers; null if there are tenants, as for their health.")
        ),
    ]
    findings: Annotated[
        int | UnsetType, Meta(description="Number of findings about the node itself, if any.")
    ] = UNSET
    of: Annotated[
        int | None | UnsetType,
        Meta(
            description="Number of controllers expected at startup, or present before the stop;"
            " null as the other number."
        ),
    ] = UNSET


class MadeReport(Struct, frozen=True):
    names: list[str]
    dry_run: bool
    password: Annotated[
        str | None,
        Meta(
            description=(
                "Password of their administrators, shown this once; null if they require none."
            )
        ),
    ] = None
