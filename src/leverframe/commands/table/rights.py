"""The accounts that may run each command: the one check before any row runs, by any server.

What a command needs is data on its row. The administrator may do everything. The user account and
control users switch outputs, PWM outputs and event variables, one command per request; the user
account not even that while it is read-only. Requests of the other ways in, such as messages, carry
the rights of a control user, and may join commands.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from leverframe.commands.table.refusals import NotAllowed, SignInRequired
from leverframe.commands.table.row import ACCOUNT, ADMIN, ANYBODY, CONTROL
from leverframe.engine.settings import Settings

if TYPE_CHECKING:
    from leverframe.commands.table.matching import Call


class Account(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    role: str
    #: Setting path of its password; empty for accounts without one.
    path: str = ""
    joins_commands: bool = False


#: All clients, on a controller that requires no sign-in.
UNRESTRICTED = Account("", ADMIN, joins_commands=True)
#: A client that is not signed in.
ANONYMOUS = Account("", ANYBODY)
#: A client that reaches the controller by another way than HTTP, which has checked the client.
FIELD_BUS = Account("", CONTROL, joins_commands=True)
#: A client that may write by Modbus TCP: the registers limit what it can write.
MODBUS_WRITER = Account("", ADMIN, joins_commands=True)

#: Programs in a network that the configuration trusts, which cannot sign in.
TRUSTED_USER = Account("trusted network", CONTROL)
TRUSTED_ADMINISTRATOR = Account("trusted network", ADMIN, joins_commands=True)


def require(account: Account, role: str) -> None:
    """Refuse unless the account has the role, or more."""
    if role == ANYBODY or account.role == ADMIN:
        return
    if (role == CONTROL == account.role) or (role == ACCOUNT and account.path):
        return
    if account.role == ANYBODY:
        raise SignInRequired("This controller requires a user name and password.")
    raise NotAllowed("Only the administrator may do this.")


def is_read_only(account: Account, settings: Settings) -> bool:
    """Return whether this acts as the user account and the settings make that read-only."""
    if not settings.ui.user_read_only:
        return False
    return account.path == "access.user.password" or account is TRUSTED_USER


def check_calls(account: Account, calls: "Sequence[Call]", settings: Settings) -> None:
    """Refuse unless the account may run all these commands in one request."""
    if account.role == ADMIN:
        return
    for call in calls:
        require(account, call.row.role)
    if len(calls) > 1 and not account.joins_commands:
        raise NotAllowed("Only the administrator may join several commands in one request.")
    if is_read_only(account, settings) and any(call.row.role == CONTROL for call in calls):
        raise NotAllowed("The user account is read-only on this controller.")
