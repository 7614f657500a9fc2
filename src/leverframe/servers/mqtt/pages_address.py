"""Where the pages of the controller are, as others in the network can ask for them."""

from ipaddress import ip_address

from msgspec import Struct

from leverframe.engine.http_address import url_host


class PagesAddress(Struct, frozen=True):
    scheme: str
    #: What the server listens on.
    host: str
    port: int

    def url_from(self, own: str | None) -> str | None:
        """Return the address of the pages for clients reached from this address of the machine.

        None where the pages cannot be reached from there.
        """
        try:
            listening = ip_address(self.host)
        except ValueError:
            return self._url(self.host)
        if listening.is_unspecified:
            return None if own is None else self._url(own)
        if listening.is_loopback and not (own and ip_address(own.partition("%")[0]).is_loopback):
            return None
        return self._url(self.host)

    def _url(self, host: str) -> str:
        return f"{self.scheme}://{url_host(host)}:{self.port}/"
