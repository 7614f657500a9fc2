"""An operation of a node: a typed function on the controllers of this node, and its scope.

A node runs its own part. If several nodes share a database, the scope selects the nodes that take
part (`scopes.py`), and merges their answers. The endpoint, its description in OpenAPI and the
method of the client are derived from the declaration.
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct

from leverframe.fleet.operations.context import TEMPLATES, FleetContext
from leverframe.fleet.owners import DEADLINES, Deadline
from leverframe.fleet.progress import PATHS
from leverframe.interface.descriptions.openapi import EndpointDescription, QueryParameter
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import ADMIN
from leverframe.server.problems import NotReadNow, StoreFailed
from leverframe.storage.store import StoreUnavailable

Reply = TypeVar("Reply")


class Operation(EndpointDescription, Generic[Reply], frozen=True, kw_only=True):
    """An operation in the table; client, endpoint and description are derived from it."""

    #: Runs the part of this node.
    run: Callable[[FleetContext], Any]
    #: Lets all nodes concerned run their parts; None if this node alone can answer.
    scope: "Callable[[FleetContext, Operation[Any]], Any] | None" = None
    #: Merges the answers that the scope has collected.
    merge: Callable[[FleetContext, Any], Any] | None = None
    #: Whether tenants may use it; it then shows and changes only the data of the requester's
    #: tenant.
    for_tenants: bool = True
    #: Whether it is available while the node starts, because it concerns no controllers, or reports
    #: which of them do not run yet.
    while_starting: bool = False
    #: Whether it also applies to controllers that failed to start, if they are named.
    with_failed: bool = False
    #: Whether it accepts a body, but changes nothing.
    is_question: bool = False

    def answer(self, context: FleetContext) -> Any:
        """Run the operation; without other nodes, the part of this node is the whole answer."""
        return (self.run if context.node.cluster is None else self.run_everywhere)(context)

    def run_everywhere(self, context: FleetContext) -> Any:
        return self.run(context) if self.scope is None else self.scope(context, self)

    @property
    def takes_form(self) -> bool:
        return "POST" in self.methods

    @property
    def only_reads(self) -> bool:
        """Return whether the operation only answers, and changes nothing."""
        return self.is_question or not self.takes_form

    @property
    def deadline(self) -> Deadline:
        return DEADLINES["change" if self.takes_form else "read"]

    def holds_much(self, *, dry_run: bool) -> bool:
        """Return whether a request reads many settings, and does little else."""
        return self.only_reads or dry_run or self.body in TEMPLATES

    def refusal(self, error: StoreUnavailable) -> Refusal:
        """Return the refusal for an operation that fails because of the store."""
        return (NotReadNow if self.only_reads else StoreFailed).because(error)


class _Declaration(Struct, frozen=True):
    fields: dict[str, Any]

    @overload
    def __call__(
        self, run: Callable[[FleetContext], Coroutine[Any, Any, Reply]]
    ) -> Operation[Reply]: ...
    @overload
    def __call__(self, run: Callable[[FleetContext], Reply]) -> Operation[Reply]: ...
    def __call__(self, run: Callable[[FleetContext], Any]) -> Operation[Any]:
        fields = {"reply": inspect.get_annotations(run)["return"], **self.fields}
        return Operation(run=run, doc=" ".join((run.__doc__ or "").split()), **fields)


def operation(
    name: str, *query: QueryParameter, changes: bool = False, **fields: Any
) -> _Declaration:
    """Declare a function as an operation; its docstring describes it to users and programs.

    `fields` are further fields of `Operation`.
    """
    takes_form = changes or fields.get("is_question", False)
    derived = {
        "path": name if name.startswith("/") else f"{PATHS}/{name}".rstrip("/"),
        "query": query,
        "methods": ("POST",) if takes_form else ("GET", "HEAD"),
        "role": ADMIN,
    }
    return _Declaration({**derived, **fields})
