"""What a page of an uploaded site may do for its visitor, and under which address.

Such a page has no origin, so that it cannot use the built-in pages, and browsers send no cookie
with what it requests. It stands below an address that holds a key to the visitor's session instead:
`/site-session/KEY/index.html`. Relative addresses lead it to status files and commands there, with
no more than the rights of a control user.
"""

from leverframe.commands.table.rights import Account
from leverframe.commands.table.row import ADMIN, CONTROL
from leverframe.servers.http.messages import Headers, Reply, Request
from leverframe.servers.routes.admission import Admission
from leverframe.servers.routes.sign_in import is_browser, redirect

PREFIX = "/site-session/"
#: A page without an origin may read the replies here; without the key there are none.
READABLE: Headers = (("Access-Control-Allow-Origin", "null"),)


def with_session(request: Request, admission: Admission) -> Reply | None:
    """Redirect a browser to the address at which an uploaded page can act for its visitor."""
    key = admission.site_key(request) if is_browser(request) else None
    if key is None:
        return None
    query = "" if request.query is None else f"?{request.query}"
    return redirect(f"{PREFIX}{key}{request.path}{query}")


def split_request(request: Request) -> tuple[str, Request]:
    """Return the key of an address below the prefix, and the request for what stands behind it."""
    key, _, path = request.path.removeprefix(PREFIX).partition("/")
    inner = Request(request.method, f"/{path}", request.query, request.headers, b"", request.peer)
    return key, inner


def limit_rights(account: Account) -> Account:
    """Return the account with no more than the rights of a control user."""
    if account.role != ADMIN:
        return account
    return Account(account.name, CONTROL, joins_commands=account.joins_commands)
