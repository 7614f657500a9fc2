"""Trusted authorities: the TLS context of everything that connects to a server.

The authorities of the system, or those that come with the program where the system has none, and
the file of further ones that the program was started with. Made once, when first needed: reading
authorities takes tens of milliseconds.
"""

import asyncio
import os
import ssl
from functools import cached_property

from leverframe.notify.channel import CannotSend


class Trust:
    def __init__(
        self,
        ca_file: str | None = None,
        certificate: str | None = None,
        key: str | None = None,
    ) -> None:
        self._ca_file = ca_file
        #: What a server is shown that asks who connects.
        self._certificate = certificate
        self._key = key

    async def ready(self) -> ssl.SSLContext:
        """Make the context beside the loop; raises CannotSend where a file cannot be used."""
        return await asyncio.to_thread(lambda: self.context)

    @cached_property
    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if not _system_has_authorities():
            import certifi

            context.load_verify_locations(certifi.where())
        if self._ca_file is not None:
            _add_authorities(context, self._ca_file)
        if self._certificate is not None:
            _show(context, self._certificate, self._key)
        return context


def _add_authorities(context: ssl.SSLContext, ca_file: str) -> None:
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:
        # The file was there at the start; a certificate may be renewed since then, or a disk lost.
        raise CannotSend(
            f"The file of authorities {ca_file} cannot be used ({error.strerror or error}); "
            "repair it, or set another ca_file in the configuration."
        ) from error


def _show(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    try:
        # A key with a passphrase is refused: no user is there to enter it.
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:
        raise CannotSend(
            f"The certificate {certificate} and its key {key} cannot be used "
            f"({error.strerror or error}); check both files."
        ) from error


def _system_has_authorities() -> bool:
    paths = ssl.get_default_verify_paths()
    return paths.cafile is not None or bool(paths.capath and os.listdir(paths.capath))
