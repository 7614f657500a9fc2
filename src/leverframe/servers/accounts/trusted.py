"""Programs in trusted networks: who acts without signing in, because the configuration says so.

An address is no proof of who asks: a proxy asks with its own, and a browser in the network asks for
whatever page a visitor has open, which can hide where it stands. So this holds only for programs
that ask for themselves: nothing that a browser sends may be there, nor anything that a proxy adds.
No page can take away the name that all browsers have.
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address

from msgspec import Struct

from leverframe.commands.table.rights import ANONYMOUS, TRUSTED_USER, Account
from leverframe.servers.accounts.cross_site import FORWARDED
from leverframe.servers.http.messages import Request

#: Headers of browsers.
_OF_BROWSERS = ("origin", "referer", "cookie", "sec-fetch-site", "sec-fetch-mode")


class TrustedNetworks(Struct, frozen=True):
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    #: Whose rights clients there have.
    account: Account = TRUSTED_USER

    def account_of(self, request: Request) -> Account:
        """Return the account of a request without credentials."""
        headers = request.headers
        if (
            not self.networks
            or request.is_http10
            or "Mozilla/" in headers.get("user-agent", "")
            or _any_in(_OF_BROWSERS, headers)
            or _any_in(FORWARDED, headers)
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


NOBODY_TRUSTED = TrustedNetworks()


def _any_in(names: Iterable[str], headers: dict[str, str]) -> bool:
    return any(name in headers for name in names)
