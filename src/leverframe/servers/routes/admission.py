"""The account of a request, on a controller that may or may not ask for sign-in."""

import secrets
from collections.abc import Callable

from leverframe.commands.table.rights import ANONYMOUS, UNRESTRICTED, Account
from leverframe.controller import Controller
from leverframe.outgoing.own_connections import OWN_PEER
from leverframe.servers.accounts.access import Access
from leverframe.servers.accounts.trusted import NOBODY_TRUSTED, TrustedNetworks
from leverframe.servers.http.messages import Request


class Admission:
    def __init__(
        self,
        controller: Controller,
        access: Access,
        *,
        must_sign_in: bool,
        trusted: TrustedNetworks = NOBODY_TRUSTED,
        open_to_itself: bool = True,
    ) -> None:
        self._controller = controller
        self._access = access
        #: Sign-in is asked for whatever the settings say.
        self._must_sign_in = must_sign_in
        self.trusted = trusted
        #: Where no sign-in is asked for, that holds for the controllers of the process, too.
        self._open_to_itself = open_to_itself
        #: The key of uploaded pages where no sign-in is asked for: foreign pages do not know it.
        self._open_site_key = secrets.token_hex(32)

    def account(self, request: Request) -> Account | None:
        """Return the account, or None where a password must be checked first."""
        if self._is_open(request):
            return UNRESTRICTED
        account = self._access.recognise(request)
        return self.trusted.account_of(request) if account is ANONYMOUS else account

    def site_key(self, request: Request) -> str | None:
        """Return the key that an uploaded page acts with for who asks; None without a session."""
        if self._is_open(request):
            return self._open_site_key
        if "authorization" in request.headers:
            return None
        return self._access.sessions.site_key(request.headers.get("cookie", ""))

    def account_of_site(self, site_key: str) -> Account | None:
        """Return the account that an uploaded page with this key acts for, if there is one."""
        if not self._asks_for_sign_in():
            return UNRESTRICTED if site_key == self._open_site_key else None
        return self._access.account_of_site(site_key)

    def watch(self, request: Request) -> Callable[[], bool]:
        """Return a test of whether the account may still read; each call keeps a session in use."""
        begun = self._controller.pending.access

        def is_still_admitted() -> bool:
            if self._is_open(request):
                return True
            if "authorization" in request.headers:
                # Passwords are not checked over and over: with other accounts one asks again.
                return self._controller.pending.access is begun
            return self.account(request) is not ANONYMOUS

        return is_still_admitted

    def _is_open(self, request: Request) -> bool:
        """Return whether a request needs no account; one of a neighbour in the process does."""
        if self._asks_for_sign_in():
            return False
        return self._open_to_itself or request.peer != OWN_PEER

    def _asks_for_sign_in(self) -> bool:
        return self._must_sign_in or self._controller.commits.pending.access.required
