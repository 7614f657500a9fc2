"""A controller with an administrator, a user and a control user, and clocks to move by hand."""

from base64 import b64encode

from leverframe.profile import Profile
from leverframe.servers.accounts.cross_site import OwnNames
from leverframe.servers.routes.router import Reach
from tests.twin import NEWEST, Twin

ADMINISTRATOR = ("chief", "long admin secret")
USER = ("guest", "long guest secret")
CONTROL_USER = ("panel", "long panel secret")


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


async def signed_up(profile: Profile = NEWEST, *, secure: bool = False) -> Twin:
    """Accounts are there, and sign-in is required."""
    twin = await Twin.start(profile, reach=Reach(OwnNames(), secure=secure))
    users = f"&u0={CONTROL_USER[0]}*{CONTROL_USER[1]}*1&&".encode()
    await twin.ok("/post.cgi?users_save", "POST", users)
    fields = "*".join(base64(text) for text in (*ADMINISTRATOR, *USER))
    await twin.ok(f"/stm.cgi?auth=11{fields}")
    return twin
