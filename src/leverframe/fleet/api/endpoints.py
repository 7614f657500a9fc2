"""The endpoints of a node's API, with what each takes and answers."""

from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from leverframe import __version__
from leverframe.commands.describe.openapi import QueryParameter, openapi_of_endpoints
from leverframe.commands.table.row import ACCOUNT, ADMIN, ANYBODY, CONTROL
from leverframe.fleet.answer_headers import PROGRESS
from leverframe.fleet.api import (
    across_nodes,
    acting,
    comparing,
    making,
    nodes,
    reading,
    rolling_out,
    tenancy,
    watching,
)
from leverframe.fleet.api.acting import JOB_ID, KEPT_LABEL, SNAPSHOT_LABEL
from leverframe.fleet.api.context import (
    CHOSEN,
    LOOKED_FOR,
    NAMES,
    TAGS,
    FleetContext,
    FleetEndpoint,
)
from leverframe.fleet.api.fan_out import at_holder, at_owner, fan_out_bulk
from leverframe.fleet.api.making import NEW_PLACE, PLACES
from leverframe.fleet.api.parameters import (
    Command,
    CommandBody,
    CommandsOrTemplate,
    Name,
    Names,
    ShortText,
    Tags,
    Template,
    Words,
)
from leverframe.fleet.api.reading import NodeHealth
from leverframe.fleet.api.watching import PLACE
from leverframe.fleet.jobs.job_state import JobReport, Operation
from leverframe.servers.routes.metrics import METRICS
from leverframe.servers.routes.stream import EVENT_STREAM


def openapi_of_node(context: FleetContext) -> dict[str, Any]:
    info = {
        "title": "Leverframe fleet",
        "version": __version__,
        "description": "A node with many controllers. Each controller has an interface of its own"
        " at its own name, described there at `/api/openapi.json`.",
    }
    return openapi_of_endpoints(info, ENDPOINTS, {})


_POST = ("POST",)
#: For administrators: those of tenants have to do with what is theirs alone.
_read = partial(FleetEndpoint, role=ADMIN, for_tenants=True)
_change = partial(_read, methods=_POST)
_operator_read = partial(FleetEndpoint, role=ADMIN)
_operator_change = partial(_operator_read, methods=_POST)

_NODE = QueryParameter("node", Name, "The name of a node.")
_DRY_RUN = QueryParameter("dry_run", bool, "Change nothing; tell what would become of it.")

_OPERATIONS: dict[Operation, str] = {
    "start": "Start a roll-out that was planned.",
    "stop": "Stop a roll-out after the controllers that are being asked.",
    "resume": "Go on with a roll-out that has stopped, or end its pause.",
    "retry": "Try those again that have failed, and only those.",
    "undo": "Take the settings back that those had which were changed.",
}


def _operation(what: Operation, doc: str) -> FleetEndpoint:
    return _change(
        f"/api/fleet/rollout/{what}",
        reply=JobReport,
        query=(rolling_out.ID,),
        function=partial(rolling_out.operated, what),
        across=at_holder,
        doc=doc,
    )


ENDPOINTS: tuple[FleetEndpoint, ...] = (
    FleetEndpoint(
        "/health",
        role=ANYBODY,
        reply=NodeHealth,
        while_starting=True,
        function=reading.node_health,
        doc="Tell supervisors whether the node runs.",
    ),
    _read(
        "/metrics",
        reply=str,
        content_type=METRICS,
        query=(TAGS,),
        function=reading.node_metrics,
        doc="List sums over all controllers as Prometheus reads them; with a tag also all figures "
        "of the controllers that have it, with their names as the label `controller`.",
    ),
    FleetEndpoint(
        "/api/openapi.json",
        role=CONTROL,
        for_tenants=True,
        while_starting=True,
        function=openapi_of_node,
        doc="Describe this interface as OpenAPI.",
    ),
    across_nodes.OVERVIEW,
    _operator_read(
        "/api/fleet/nodes",
        function=nodes.reported,
        doc="Show the nodes that share the database, and how this one stands with it.",
    ),
    _operator_change(
        "/api/fleet/drain",
        query=(
            _NODE,
            QueryParameter("undo", bool, "Let it have its share again."),
        ),
        function=nodes.drained,
        doc="Empty a node: the others take its controllers over, one after the other. It stays "
        "empty, also when it is started anew, until that is undone.",
    ),
    _operator_change(
        "/api/fleet/forget",
        query=(_NODE,),
        function=nodes.forgotten,
        doc="Take a node that has ended off the list; started again it is a new one.",
    ),
    _operator_change(
        "/api/fleet/move",
        query=(
            NAMES,
            QueryParameter("node", Name, "The node that shall have them; any without it."),
        ),
        function=nodes.moved,
        doc="Let a node have controllers as long as it lives.",
    ),
    across_nodes.LIST,
    _operator_read(
        "/api/fleet/owners",
        function=reading.owners,
        doc="Tell which node has which controller, null for none at present; 409 where there is one"
        " node only.",
    ),
    FleetEndpoint(
        "/api/fleet/stream",
        role=CONTROL,
        for_tenants=True,
        reply=str,
        content_type=EVENT_STREAM,
        query=(TAGS, *LOOKED_FOR, *PLACE),
        while_starting=True,
        function=watching.streamed,
        across=watching.streamed_across_nodes,
        doc="Tell what a page shows as server-sent events: `view` with the controllers in view, "
        "then `change` with what is different.",
    ),
    FleetEndpoint(
        "/api/fleet/progress",
        role=CONTROL,
        for_tenants=True,
        query=(QueryParameter("id", Name, f"What the header `{PROGRESS}` of the request says."),),
        while_starting=True,
        function=reading.progress,
        doc="Tell how far a request has come that is still under way, of the controllers that it "
        "concerns; 404 for any other.",
    ),
    _read(
        "/api/fleet/show",
        query=(QueryParameter("name", Name, "The name of a controller."),),
        function=reading.shown,
        across=at_owner,
        doc="Show one controller, with the settings that differ from the factory settings.",
    ),
    across_nodes.EXPORT,
    _change(
        "/api/fleet/add",
        query=(
            QueryParameter("name", Name, "Their name, with `{n}` for the number: `gh-{n}`."),
            QueryParameter(
                "hw", ShortText, "Their hardware version, that of the template or newest."
            ),
            QueryParameter("sw", ShortText, "Their software version, likewise."),
            QueryParameter("like", Name, "A controller whose settings they begin with."),
            *PLACES,
            QueryParameter("tenant", Name, "Whose they are; the operator's if not given."),
            making.LEFT_OPEN,
            _DRY_RUN,
        ),
        body=Template,
        body_is_optional=True,
        function=making.added,
        across=across_nodes.added,
        doc="Make controllers with simulated boards, all of them or none.",
    ),
    _change(
        "/api/fleet/remove",
        query=CHOSEN,
        function=making.removed,
        across=fan_out_bulk,
        with_failed=True,
        doc="Remove the chosen controllers with all that is stored of them; of those that did not "
        "start the ones that are named.",
    ),
    _change(
        "/api/fleet/rename",
        query=(
            QueryParameter("name", Name, "The name of a controller."),
            QueryParameter("to", Name, "Its new name."),
        ),
        function=making.renamed,
        across=at_owner,
        doc="Give a controller another name, by which it answers from then on.",
    ),
    _operator_change(
        "/api/fleet/place",
        query=(QueryParameter("name", Name, "The name of a controller."), *NEW_PLACE),
        function=making.placed,
        across=at_owner,
        with_failed=True,
        doc="Give a controller another address or port, at which it alone answers from then on. "
        "What it does goes on; its connections end. One that did not start is started there.",
    ),
    _operator_change(
        "/api/fleet/start",
        query=(
            QueryParameter(
                "name", Names, "The names of controllers; without it all that did not start."
            ),
        ),
        function=making.started,
        across=across_nodes.started,
        doc="Try again to start controllers that did not start with the node, such as one whose "
        "port was in use; `detail` tells of each whether it runs. What the fleet file names and "
        "was never made is made; `password` is that of its new administrator. Nodes that "
        "share a database try what is stored every few seconds without being asked; this lets them "
        "try it at once.",
    ),
    _change(
        "/api/fleet/tag",
        query=(
            *CHOSEN,
            QueryParameter("add", Tags, "Tags to give them."),
            QueryParameter("remove", Tags, "Tags to take from them."),
        ),
        function=making.tagged,
        across=fan_out_bulk,
        doc="Give tags to the chosen controllers, and take tags from them.",
    ),
    FleetEndpoint(
        "/api/fleet/send",
        role=CONTROL,
        for_tenants=True,
        methods=_POST,
        query=(
            QueryParameter("command", Command, "A command, such as `outs.cgi?out0=1`, encoded."),
            *CHOSEN,
            _DRY_RUN,
            QueryParameter("all_or_none", bool, "Change nothing if one of them refuses it."),
            QueryParameter(
                "id",
                JOB_ID,
                "A name for this change, by which it is done once however often it is asked for.",
            ),
        ),
        body=CommandBody,
        body_is_optional=True,
        function=acting.sent,
        across=across_nodes.sent,
        doc="Carry out a command on the chosen controllers, with a result for each; or try it. "
        "What was begun goes on after a node was killed, and each controller does it once.",
    ),
    across_nodes.ROLLOUTS,
    _read(
        "/api/fleet/rollout",
        query=(rolling_out.ID,),
        function=rolling_out.shown,
        across=at_holder,
        doc="Show a roll-out with the result of every controller that has answered.",
    ),
    _change(
        "/api/fleet/rollout/plan",
        query=(
            QueryParameter("command", Command, "A command; else the body says what to do."),
            rolling_out.WHAT,
            QueryParameter("id", JOB_ID, "An id for it; one is made if not given."),
            *CHOSEN,
            *rolling_out.CAREFULNESS,
            _DRY_RUN,
        ),
        body=CommandsOrTemplate,
        body_is_optional=True,
        function=rolling_out.planned,
        across=across_nodes.planned,
        doc="Plan a roll-out in groups for the chosen controllers, and tell what each would say to "
        "it. Nothing is changed before it is started.",
    ),
    *(_operation(what, doc) for what, doc in _OPERATIONS.items()),
    _change(
        "/api/fleet/rollout/remove",
        query=(rolling_out.ID,),
        function=rolling_out.forgotten,
        across=at_holder,
        doc="Forget a roll-out, and the snapshots it could go back to.",
    ),
    _change(
        "/api/fleet/drift",
        query=CHOSEN,
        body=Template,
        function=comparing.drift,
        across=across_nodes.drift,
        is_question=True,
        doc="Tell in which settings the chosen controllers differ from a template; nothing is "
        "changed.",
    ),
    _read(
        "/api/fleet/changes",
        query=(*CHOSEN, *comparing.CHANGES_OF),
        function=comparing.changes,
        across=across_nodes.changes,
        doc="List who changed or switched what on the chosen controllers, newest first.",
    ),
    _change(
        "/api/fleet/advance",
        query=(
            *CHOSEN,
            QueryParameter("for", ShortText, "A duration such as `1h30m`."),
            QueryParameter(
                "to", ShortText, "A moment such as `2026-03-29T03:00`, by the time zone."
            ),
            QueryParameter("step", bool, "To the next moment at which something is due."),
            QueryParameter("rate", float, "Let time run, seconds in a second; 0 freezes it."),
        ),
        function=acting.moved,
        across=across_nodes.advanced,
        doc="Move virtual time of the chosen controllers together, or each to one moment; what is "
        "due happens on the way.",
    ),
    _change(
        "/api/fleet/snapshot",
        query=(SNAPSHOT_LABEL, *CHOSEN),
        function=acting.snapshot_taken,
        across=across_nodes.snapshot_taken,
        doc="Take a snapshot of the chosen controllers: settings and what they remember, on "
        "virtual time all of their state as long as the process runs; up to 20 labels.",
    ),
    across_nodes.SNAPSHOTS,
    _change(
        "/api/fleet/snapshot/remove",
        query=(KEPT_LABEL,),
        function=acting.snapshot_removed,
        across=across_nodes.snapshot_removed,
        doc="Remove a snapshot with all that is stored of it, so that its label is free.",
    ),
    _change(
        "/api/fleet/restore",
        query=(KEPT_LABEL, *CHOSEN),
        function=acting.restored,
        across=fan_out_bulk,
        doc="Let the chosen controllers go on from a snapshot, or start anew with it.",
    ),
    _change(
        "/api/fleet/fork",
        query=(
            QueryParameter("name", Name, "The name of a controller."),
            QueryParameter("to", Name, "The name of the copies, with `{n}` for the number."),
            *PLACES,
        ),
        function=making.forked,
        across=at_owner,
        doc="Make controllers that go on from where another one is; on real time they begin with "
        "its settings.",
    ),
    _change(
        "/api/fleet/fault",
        query=(
            QueryParameter("fault", Words, "As `/sim.cgi` takes it; `none` ends all."),
            QueryParameter("seed", Annotated[int, Meta(ge=0)], "What chance is made from."),
            *CHOSEN,
        ),
        function=acting.fault_set,
        across=fan_out_bulk,
        doc="Set a fault on the chosen controllers, each with a seed of its own.",
    ),
    _operator_read(
        "/api/fleet/tenants",
        function=tenancy.listed,
        doc="List tenants, with how many controllers and accounts they have.",
    ),
    _operator_change(
        "/api/fleet/tenant/add",
        query=(tenancy.TENANT, tenancy.MAX, making.LEFT_OPEN),
        function=tenancy.added,
        doc="Make a tenant, or change how many controllers it may make. With the first tenant, "
        "controllers that are open to every user of the machine get an administrator each, unless "
        "`open` is set.",
    ),
    _operator_change(
        "/api/fleet/tenant/remove",
        query=(tenancy.TENANT,),
        function=tenancy.removed,
        doc="Remove a tenant that has neither controllers nor accounts, and its roll-outs.",
    ),
    _operator_change(
        "/api/fleet/tenant/give",
        query=(*CHOSEN, tenancy.GIVEN_TO),
        function=tenancy.given,
        across=fan_out_bulk,
        doc="Let the chosen controllers belong to a tenant, with all that they hold, or to the "
        "operator alone. They leave their snapshots.",
    ),
    _operator_read(
        "/api/fleet/accounts",
        while_starting=True,
        function=tenancy.accounts_listed,
        doc="List the accounts of the node, without its first administrator.",
    ),
    _operator_change(
        "/api/fleet/account/add",
        query=(tenancy.ACCOUNT_NAME, tenancy.ROLE, tenancy.OF_TENANT, making.LEFT_OPEN),
        while_starting=True,
        function=tenancy.account_added,
        doc="Make an account, with a password that is shown this once. From the first one on "
        "all users have to sign in, and controllers that are open to every user of the machine get "
        "an administrator each, unless `open` is set.",
    ),
    tenancy.PROTECT,
    _operator_change(
        "/api/fleet/account/remove",
        query=(tenancy.ACCOUNT_NAME,),
        while_starting=True,
        function=tenancy.account_removed,
        doc="Remove an account; whoever is signed in with it is signed out.",
    ),
    FleetEndpoint(
        "/api/fleet/account/password",
        role=ACCOUNT,
        for_tenants=True,
        methods=_POST,
        query=(tenancy.WHOSE,),
        while_starting=True,
        function=tenancy.password_made,
        doc="Make another password for one's own account, which is shown this once; the operator "
        "makes one for every account.",
    ),
)
