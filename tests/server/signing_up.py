"""A controller with accounts, signing in to it, and clocks to move by hand."""

from base64 import b64encode

from leverframe.core.profile import Profile
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import Reply
from leverframe.server.routes.router import Reach
from leverframe.testing.in_process import NEWEST, LoopTwin

ADMINISTRATOR = ("chief", "long admin secret")
USER = ("guest", "long guest secret")
CONTROL_USER = ("panel", "long panel secret")
#: What our own pages say about where they stand; without it a session changes nothing.
OWN_PAGE = "http://127.0.0.1"
#: What a browser accepts when a person opens a page.
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class HandMoved:
    """Monotonic seconds that stand still."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def basic(name: str, password: str) -> str:
    return "Basic " + base64(f"{name}:{password}")


async def start_with_accounts(
    profile: Profile = NEWEST, *, secure: bool = False, names: OwnNames | None = None
) -> LoopTwin:
    """Accounts are there, and sign-in is required."""
    twin = await LoopTwin.start(profile, reach=Reach(names or OwnNames(secure=secure)))
    users = f"&u0={CONTROL_USER[0]}*{CONTROL_USER[1]}*1&&".encode()
    await twin.ok("/post.cgi?users_save", "POST", users)
    fields = "*".join(base64(text) for text in (*ADMINISTRATOR, *USER))
    await twin.ok(f"/stm.cgi?auth=11{fields}")
    return twin


async def sign_in(twin: LoopTwin, account: tuple[str, str], **headers: str) -> Reply:
    body = f"username={account[0]}&password={account[1].replace(' ', '+')}".encode()
    return await twin.ask("/post.cgi?signin", "POST", body, **headers)


def cookie_of(reply: Reply) -> str:
    """What a browser would send back."""
    return dict(reply.headers)["Set-Cookie"].partition(";")[0]
