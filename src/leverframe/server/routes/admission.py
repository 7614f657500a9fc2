"""Find the account of a request, on controllers with and without required sign-in."""

import secrets
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address

from msgspec import Struct

from leverframe.core.runtime.outgoing import OWN_PEER
from leverframe.host.controller import Controller
from leverframe.interface.table.lookup import ANONYMOUS, TRUSTED_USER, UNRESTRICTED, Account
from leverframe.interface.table.row import ADMIN, CONTROL
from leverframe.server.cross_site import FORWARDED
from leverframe.server.http.messages import Headers, Reply, Request
from leverframe.server.routes.sign_in import is_browser, redirect
from leverframe.server.sessions import Access

#: Headers that only browsers and proxies send.
_OF_OTHERS = {"origin", "referer", "cookie", "sec-fetch-site", "sec-fetch-mode", *FORWARDED}


class TrustedNetworks(Struct, frozen=True):
    """Networks whose programs need not sign in, as configured.

    An address does not identify the client: a proxy uses its own, and a browser in the network
    sends requests for any open page, which can hide its origin. So this applies only to programs:
    the request must contain none of the headers that browsers send or proxies add. No page can
    remove the browser's name from its requests.
    """

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    #: The account whose rights clients in these networks have.
    account: Account = TRUSTED_USER

    def account_of(self, request: Request) -> Account:
        """Return the account of a request without credentials."""
        headers = request.headers
        if (
            not self.networks
            or request.is_http10
            or "Mozilla/" in headers.get("user-agent", "")
            or not _OF_OTHERS.isdisjoint(headers)
            or not self._contain(request.peer)
        ):
            return ANONYMOUS
        return self.account

    def _contain(self, peer: str) -> bool:
        try:
            address = ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self.networks)


NO_TRUSTED_NETWORKS = TrustedNetworks()


class Admission:
    def __init__(
        self,
        controller: Controller,
        access: Access,
        *,
        must_sign_in: bool,
        trusted: TrustedNetworks = NO_TRUSTED_NETWORKS,
        open_to_itself: bool = True,
    ) -> None:
        self._controller = controller
        self._access = access
        #: Whether sign-in is required regardless of the settings.
        self._must_sign_in = must_sign_in
        self.trusted = trusted
        #: If clients need no account: whether controllers of this process need none, either.
        self._open_to_itself = open_to_itself
        #: The site key of uploaded pages while sign-in is not required; foreign pages do not know
        #: it.
        self._open_site_key = secrets.token_hex(32)

    def account(self, request: Request) -> Account | None:
        """Return the account, or None if a password must be checked first."""
        if self._is_open(request):
            return UNRESTRICTED
        account = self._access.recognise(request)
        return self.trusted.account_of(request) if account is ANONYMOUS else account

    def site_key(self, request: Request) -> str | None:
        """Return the key with which an uploaded page uses the client's session, or None."""
        if self._is_open(request):
            return self._open_site_key
        if "authorization" in request.headers:
            return None
        return self._access.sessions.site_key(request.headers.get("cookie", ""))

    def account_of_site(self, site_key: str) -> Account | None:
        """Return the account for which an uploaded page with this key acts, or None."""
        if not self._asks_for_sign_in():
            return UNRESTRICTED if site_key == self._open_site_key else None
        return self._access.sessions.account_of_site(site_key, self._access.accounts())

    def watch(self, request: Request) -> Callable[[], bool]:
        """Return a function that checks whether the account may still read.

        Each call of that function extends the session.
        """
        begun = self._controller.pending.access

        def is_still_admitted() -> bool:
            if self._is_open(request):
                return True
            if "authorization" in request.headers:
                # Passwords are not checked repeatedly: after a change of accounts the client signs
                # in again.
                return self._controller.pending.access is begun
            return self.account(request) is not ANONYMOUS

        return is_still_admitted

    def _is_open(self, request: Request) -> bool:
        """Return whether a request needs no account; requests from this process may need one."""
        if self._asks_for_sign_in():
            return False
        return self._open_to_itself or request.peer != OWN_PEER

    def _asks_for_sign_in(self) -> bool:
        return self._must_sign_in or self._controller.commits.pending.access.required


# The rights of a page of an uploaded site, and the address under which it has them.
#
# Such a page has no origin, so that it cannot use the built-in pages, and browsers send no cookie
# with its requests. Instead, its own address contains a key to the visitor's session:
# `/site-session/KEY/index.html`. Through relative addresses it reaches status files and commands
# there, with at most the rights of a control user.

PREFIX = "/site-session/"
#: Lets a page without an origin read the replies below the prefix; without the key it gets none.
READABLE: Headers = (("Access-Control-Allow-Origin", "null"),)


def with_session(request: Request, admission: Admission) -> Reply | None:
    """Redirect a browser to the address at which an uploaded page can act for its visitor."""
    key = admission.site_key(request) if is_browser(request) else None
    if key is None:
        return None
    query = "" if request.query is None else f"?{request.query}"
    return redirect(f"{PREFIX}{key}{request.path}{query}")


def split_request(request: Request) -> tuple[str, Request]:
    """Return the key in an address below the prefix, and the request without prefix and key."""
    key, _, path = request.path.removeprefix(PREFIX).partition("/")
    inner = Request(request.method, f"/{path}", request.query, request.headers, b"", request.peer)
    return key, inner


def limit_rights(account: Account) -> Account:
    """Return the account with no more than the rights of a control user."""
    if account.role != ADMIN:
        return account
    return Account(account.name, CONTROL, joins_commands=account.joins_commands)
