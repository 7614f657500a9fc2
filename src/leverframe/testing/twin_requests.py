"""The requests that clients made to a twin: listed, and asserted."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from leverframe.testing.transport import TwinAccess

if TYPE_CHECKING:
    from leverframe.testing.requests import TwinRequest


class RequestedTwin(TwinAccess):
    """A twin that shows what clients requested."""

    def requests(
        self,
        path: str | None = None,
        *,
        method: str | None = None,
        query: str | Mapping[str, object] | None = None,
    ) -> "list[TwinRequest]":
        """List the newest 2000 requests of clients, oldest first; those that match, if given.

        A path is whole, or ends in `/` for all below it. A query is the whole one as a text, or
        some of its items, `{"out0": 1}`. A path at which nothing ever answers is an error. What
        may be a secret reads `***`, and at most 4 MiB are kept.
        """
        from leverframe.testing.misuse import (
            check_method,
            check_path,
            check_query,
            own_paths,
            unknown,
        )
        from leverframe.testing.requests import matching, requests_from

        path = None if path is None else check_path(path)
        method = None if method is None else check_method(method)
        check_query(query)
        everything = requests_from(self._operate("/api/sim/requests"), self.zone)
        found = matching(everything, path, method, query)
        is_known = found or path is None or matching(everything, path, None, None)
        if not is_known and path is not None and not self._knows_path(path):
            raise unknown("Path", path, {*own_paths(), *self._own_answers()})
        return found

    def assert_requested(
        self,
        path: str,
        *,
        times: int | None = None,
        method: str | None = None,
        query: str | Mapping[str, object] | None = None,
    ) -> "list[TwinRequest]":
        """Return the requests that match; fail without any, or unless there are `times` of them.

        `assert_requested("/outs.cgi", times=1, query={"out0": 1})`. The failure lists what was
        requested instead, the nearest first.
        """
        from leverframe.testing.misuse import BadCall
        from leverframe.testing.requests import NotRequested, unmet

        if times is not None and (isinstance(times, bool) or not isinstance(times, int)):
            raise BadCall(f"times is a number of requests such as 1, not {times!r}.")
        found = self.requests(path, method=method, query=query)
        if len(found) == times or (times is None and found):
            return found
        raise NotRequested(unmet(self.requests(), found, path, method, query, times))

    def clear_requests(self) -> None:
        """Forget the requests so far."""
        self._operate("/sim.cgi?requests=clear")
