"""Recognise requests that pages of other sites make a visitor's browser send.

Commands change things by GET, so any page in the world could switch an output through the browser
of a user who can reach the controller. Browsers name the source of a request in `Origin`, `Referer`
and `Sec-Fetch-Site`. Programs send none of these, and do not need to.

A page can also make a browser omit all of these headers: a request to a plain HTTP address in the
network has no `Sec-Fetch-Site`, a GET has no `Origin`, and the page decides whether there is a
`Referer`. The browser still sends the session cookie if the page is served from another port of the
same host. So a request that uses a session to change something must name the page that it comes
from.

Origins named in the configuration are treated as our own pages; they are compared exactly as
written.

A site can also make its own name resolve to the controller's address (DNS rebinding); then `Host`
contains that name, which is not ours. An IP address in `Host` cannot be faked that way.
"""

from collections.abc import Iterable
from ipaddress import ip_address

from leverframe.server.http.messages import Request
from leverframe.server.problems import ForeignPage

#: Headers by which browsers name the page that a request comes from.
_NAMES_OF_PAGES = frozenset(("origin", "referer", "sec-fetch-site"))
#: The values of `Sec-Fetch-Site` if no page of another site caused the request.
_NOT_FOREIGN = (None, "same-origin", "none")


#: Headers that proxies add.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-real-ip")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on that address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class OwnNames:
    """The names under which a controller accepts requests."""

    def __init__(
        self,
        listening_on: str = "127.0.0.1",
        names: Iterable[str] = (),
        origins: Iterable[str] = (),
        machine: Iterable[str] = (),
        *,
        secure: bool = False,
        has_proxies: bool = False,
    ) -> None:
        """Set the names from the configuration and those of the machine."""
        #: Whether requests arrive over TLS.
        self.secure = secure
        self._begin = "https://" if secure else "http://"
        configured = {name.lower() for name in names}
        self._names = {"localhost", listening_on.lower(), *map(str.lower, machine), *configured}
        #: Configured names that other machines use: a proxy on this machine may forward their
        #: requests.
        self._for_others = frozenset(name for name in configured if not is_loopback(name))
        #: Whether a request from this machine may come from elsewhere, through a proxy.
        self._has_proxies = has_proxies or bool(self._for_others)
        #: Whether clients can use any address that the machine has now or gets later.
        self._any_address = is_any_address(listening_on)
        #: Other sites whose pages may use the controller.
        self.origins = frozenset(origins)
        #: Host headers already found to be ours, exactly as they were sent.
        self._known: set[str] = set()

    def check_host(self, request: Request) -> None:
        host = request.headers.get("host")
        if host is None or host in self._known:
            return
        if not self._is_own(without_port(host)):
            raise ForeignPage(
                "The Host header names another machine. Use the controller's address, or add the "
                "name to `hosts` in its configuration."
            )
        if len(self._known) < 64:
            self._known.add(host)

    def check_page(self, request: Request, needs_source: bool) -> None:
        """Refuse a request that a foreign page made a browser send.

        With `needs_source`, for requests that use a session, also refuse a request that does not
        name its page.
        """
        headers = request.headers
        if _NAMES_OF_PAGES.isdisjoint(headers):
            # Nearly always a program.
            if needs_source:
                raise _without_source()
            return
        if self.origins and not needs_source and headers.get("origin") in self.origins:
            return
        source = headers.get("origin") or headers.get("referer")
        if source is None:
            if needs_source:
                raise _without_source()
        elif not self._is_own_page(source, headers):
            raise _foreign()
        if headers.get("sec-fetch-site") not in _NOT_FOREIGN:
            raise _foreign()

    def is_at_this_machine(self, request: Request) -> bool:
        """Return whether the client itself is on this machine, and not only a proxy.

        Proxies need not identify themselves. So every sign must point to a local client: both ends
        are loopback, the configuration names neither a proxy nor a public name, and the request is
        HTTP/1.1, which proxies that send their own `Host` do not use by default. A proxy that
        forwards only the client's `Host` looks like a local client, because clients may send any
        `Host`. The guides warn about this.
        """
        headers = request.headers
        host = without_port(headers.get("host", "")).lower().rstrip(".")
        return (
            not self._has_proxies
            and is_loopback(request.peer)
            and is_loopback(host)
            and not request.is_http10
            and not any(name in headers for name in FORWARDED)
        )

    def _is_own(self, name: str) -> bool:
        name = name.lower().rstrip(".")
        if name in self._names:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._any_address

    def _is_own_page(self, source: str, headers: dict[str, str]) -> bool:
        if source == self._begin + headers.get("host", "") and "x-forwarded-proto" not in headers:
            # Our own pages nearly always send exactly this; comparing the whole text saves 1 us.
            return True
        scheme, mark, rest = source.lower().partition("://")
        authority = rest.partition("/")[0]
        if "origin" not in headers:
            # Libraries send the address as the user wrote it, with user name and password.
            authority = authority.rpartition("@")[2]
        if not mark or scheme not in ("http", "https"):
            return False
        if "host" not in headers:
            return self._is_own(without_port(authority))
        host = headers["host"].lower()
        return _with_port(authority, scheme) == _with_port(host, self._scheme(headers, scheme))

    def _scheme(self, headers: dict[str, str], of_page: str) -> str:
        """Return the scheme that the browser used; it implies the port if none is given."""
        if self.secure:
            return "https"
        if forwarded := headers.get("x-forwarded-proto"):
            return forwarded.lower()
        # A proxy that forwards a public name may serve TLS without saying so.
        return of_page if without_port(headers["host"]).lower() in self._for_others else "http"


def is_any_address(host: str) -> bool:
    """Return whether a server on this address listens on all addresses of the machine."""
    try:
        return not host or ip_address(host).is_unspecified
    except ValueError:
        return False


def without_port(authority: str) -> str:
    if authority.startswith("["):
        address, _, rest = authority[1:].partition("]")
        return authority if rest and not rest.startswith(":") else address
    return authority.partition(":")[0]


def _with_port(authority: str, scheme: str) -> str:
    if authority.rpartition("]")[2].count(":"):
        return authority
    return f"{authority}:{443 if scheme == 'https' else 80}"


def _foreign() -> ForeignPage:
    return ForeignPage(
        "A page of another site sent this request. Open the controller's own page, or send "
        "the request without a browser."
    )


def _without_source() -> ForeignPage:
    return ForeignPage(
        "The request has a session cookie but no Origin or Referer header. Use the controller's "
        "own page, or sign in by HTTP Basic. A program that keeps the cookie has to send an "
        "Origin header with the controller's address."
    )
