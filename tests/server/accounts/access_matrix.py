"""Who gets what: every path of the program, requested with every role, as one table.

Paths are grouped by what the endpoint and command tables say of them, and the whole group has to
answer alike. `python -m tests.server.accounts.access_matrix` writes the table into the page about
security; `test_access_matrix` fails when it is no longer true.
"""

import asyncio
import http.client
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from leverframe.host.configuration import read_config
from leverframe.host.reach import reach_of
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.row import ACCOUNT, ADMIN, ANYONE, CONTROL
from leverframe.interface.uploads.site import pack_site
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import AnyReply, Request, StreamReply
from leverframe.server.routes.endpoints import ENDPOINTS
from leverframe.server.routes.headers import open_to
from leverframe.server.routes.pages import pages
from leverframe.server.routes.router import Reach
from leverframe.server.routes.sign_in import OPEN_FILES
from leverframe.storage.store import Changes, MemoryStore
from leverframe.testing import LoopTwin
from tests.boundary_profiles import NEWEST
from tests.clients.served_twin import LoopThread, serve_twin
from tests.conformance.requests import FORM, make_good_samples
from tests.docs.blocks import DOCS
from tests.docs.test_reverse_proxy import NAME, nginx_before
from tests.ports import free_ports
from tests.server.signing_up import (
    ADMINISTRATOR,
    CONTROL_USER,
    USER,
    base64,
    basic,
    start_with_accounts,
)

PAGE = DOCS / "security.md"
BEGIN, END = "<!-- matrix: written by tests/server/accounts/access_matrix.py -->", "<!-- end -->"
HERE = "127.0.0.1:8080"
OWN, PANEL, EVIL = f"http://{HERE}", "https://panel.example", "http://evil.example"
OTHER_PORT = "http://127.0.0.1:9090"
SITE_PAGE = "/cellar.html"
YES, NO = "yes", "-"


@dataclass(frozen=True)
class Asked:
    """One request of a group; `own_password` stands for a body made of the caller's own account."""

    target: str
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""
    own_password: str = ""


@dataclass(frozen=True)
class Group:
    name: str
    members: Sequence[Asked]
    #: A page gets this only if the browser shows it the answer.
    is_reading: bool = False


def _commands(role: str) -> Iterator[Asked]:
    for row in TABLE:
        if row.role != role or not row.form.items or not row.is_offered(NEWEST):
            continue
        sample = next(iter(make_good_samples(row, NEWEST)))
        if "signin" in sample.target or "passwd" in sample.target:
            yield Asked(sample.target, "POST", content_type=FORM, own_password=sample.target)
        else:
            yield Asked(sample.target, sample.method, sample.body, sample.content_type)


def _endpoints(role: str) -> list[Asked]:
    chosen = [x for x in ENDPOINTS if x.role == role and not x.changes and x.path != "/"]
    return [Asked(endpoint.path, endpoint.methods[0]) for endpoint in chosen]


@cache
def groups() -> tuple[Group, ...]:
    shown = ["/", SITE_PAGE, *sorted(pages().keys() - {"/", *OPEN_FILES})]
    bench = [Asked(f"{x.path}?DS1=20", x.methods[0]) for x in ENDPOINTS if x.changes]
    return (
        Group("health, sign-in page", [*_endpoints(ANYONE), *map(Asked, OPEN_FILES)], True),
        Group("sign in, sign out", [*_commands(ANYONE)]),
        Group("one's own password", [*_commands(ACCOUNT)]),
        Group("pages", [Asked(path) for path in shown], True),
        Group("values and names", _endpoints(CONTROL), True),
        Group("settings, logs, backup", _endpoints(ADMIN), True),
        Group("switch", [*_commands(CONTROL)]),
        Group("set", [*_commands(ADMIN)]),
        Group("test bench", bench),
    )


@dataclass(frozen=True)
class Caller:
    name: str
    account: tuple[str, str] = ADMINISTRATOR
    #: Signed in by the page.
    session: bool = False
    uses_basic: bool = False
    is_read_only: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    #: The origin of the page, where another one than our own asks.
    page: str | None = None


AT_HOME = {"host": HERE, "origin": OWN}
CALLERS = (
    Caller("anonymous"),
    Caller("a page of another site, in the administrator's browser", session=True,
           headers={"host": HERE, "origin": EVIL}, page=EVIL),
    Caller("a page of another site whose name resolves to our address", session=True,
           headers={"host": "evil.example:8080", "origin": f"{EVIL}:8080"}),
    Caller("a page on another port of our host, in the administrator's browser", session=True,
           headers={"host": HERE}, page=OTHER_PORT),
    Caller("a page of `cors_origins`, in the administrator's browser", session=True,
           headers={"host": HERE, "origin": PANEL}, page=PANEL),
    Caller("a page of `cors_origins` with the administrator's password", uses_basic=True,
           headers={"host": HERE, "origin": PANEL}, page=PANEL),
    Caller("the user, read-only (`bit3`)", USER, session=True, is_read_only=True, headers=AT_HOME),
    Caller("the user, by session", USER, session=True, headers=AT_HOME),
    Caller("the user, by HTTP Basic", USER, uses_basic=True),
    Caller("a control user, by HTTP Basic", CONTROL_USER, uses_basic=True),
    Caller("the administrator, by session", session=True, headers=AT_HOME),
    Caller("the administrator, by HTTP Basic", uses_basic=True),
)  # fmt: skip
STRANGER_BEHIND_NGINX = "anonymous, behind nginx"
ADMINISTRATOR_BEHIND_NGINX = "the administrator by session, behind nginx"


@dataclass
class Walk:
    """A controller that is rebuilt after each request that was not refused."""

    caller: Caller
    hashed: dict[str, Any]
    twin: LoopTwin | None = None

    async def get(self) -> LoopTwin:
        if self.twin is None:
            store = MemoryStore()
            await store.commit(Changes(settings=self.hashed))
            names = OwnNames(origins=[PANEL])
            self.twin = await LoopTwin.start(store=store, reach=Reach(names))
        return self.twin

    async def may(self, request: Asked, *, is_reading: bool) -> bool:
        twin, caller = await self.get(), self.caller
        headers = dict(caller.headers)
        if caller.session:
            access = twin.web.access
            token = access.sessions.open(access.proof_without_password(caller.account[0]))
            headers["cookie"] = access.sessions.set_cookie(token, secure=False).partition(";")[0]
        if caller.uses_basic:
            headers["authorization"] = basic(*caller.account)
        if request.content_type:
            headers["content-type"] = request.content_type
        path, mark, query = request.target.partition("?")
        body = own_password(caller.account, request) or request.body
        sent = Request(request.method, path, query if mark else None, headers, body, "127.0.0.1")
        answer = open_to(frozenset([PANEL]), twin.web.handle)(sent)
        reply = answer if not asyncio.iscoroutine(answer) else await answer
        assert not asyncio.iscoroutine(reply)
        await _close(reply)
        found = not _is_refused(reply.status, dict(reply.headers).get("Location", ""))
        if found and not is_reading:
            self.twin = None
        if found and is_reading and caller.page is not None:
            return dict(reply.headers).get("Access-Control-Allow-Origin") == caller.page
        return found


def own_password(account: tuple[str, str], sent: Asked) -> bytes:
    if not sent.own_password:
        return b""
    name, password = account[0], account[1].replace(" ", "+")
    new = "&new=another+long+secret" if "passwd" in sent.own_password else ""
    return f"username={name}&password={password}{new}".encode()


async def _close(reply: AnyReply) -> None:
    if isinstance(reply, StreamReply) and (close := getattr(reply.chunks, "aclose", None)):
        await close()


def _is_refused(status: int, location: str) -> bool:
    return status in (401, 403, 429) or (status == 303 and location == "/signin")


def line(name: str, found: Sequence[set[bool]]) -> str:
    cells = [YES if verdicts == {True} else NO for verdicts in found]
    mixed = [group.name for group, verdicts in zip(groups(), found, strict=True)
             if len(verdicts) != 1]  # fmt: skip
    assert not mixed, f"{name}: not all of {mixed} answer alike"
    return f"| {name} | {' | '.join(cells)} |"


async def rows_in_process() -> list[str]:
    """The lines of all roles that need no proxy."""
    stored = (await start_with_accounts()).controller.store.load().settings
    hashed = {path: value for path, value in stored.items() if path.startswith("access.")}
    lines = []
    for caller in CALLERS:
        bit = {"ui.user_read_only": True} if caller.is_read_only else {}
        walk = Walk(caller, hashed | bit)
        found = [
            {await walk.may(request, is_reading=group.is_reading) for request in group.members}
            for group in groups()
        ]
        lines.append(line(caller.name, found))
    return lines


def rows_behind_nginx(folder: Path) -> list[str]:
    """The lines of those who come by the proxy of the guide; a few of each group are requested."""
    (port,) = free_ports(1)
    thread = LoopThread()
    reach = reach_of(read_config(None, {"hosts": NAME}))
    lines = []
    try:
        with (
            nginx_before(folder, port) as proxy,
            serve_twin(thread, NEWEST, port, reach) as controller,
        ):
            fields = "*".join(base64(text) for text in (*ADMINISTRATOR, *USER))
            site = pack_site({SITE_PAGE[1:]: b"Cellar", "index.html": b"x"})
            thread.wait_for(controller.twin.ok("/post.cgi?wwwfileupload", "POST", site))
            controller.get(f"/stm.cgi?auth=11{fields}")
            at_home = {"Host": NAME, "Origin": f"https://{NAME}"}
            for name in (STRANGER_BEHIND_NGINX, ADMINISTRATOR_BEHIND_NGINX):
                is_stranger = name == STRANGER_BEHIND_NGINX
                found = []
                for group in groups():
                    members = [x for x in group.members if x.target != "/api/stream"][:4]
                    verdicts = set()
                    for request in members:
                        headers = dict(at_home)
                        if not is_stranger:
                            headers["Cookie"] = _sign_in(proxy, at_home)
                        verdicts.add(_ask(proxy, request, headers)[0])
                    found.append(verdicts)
                lines.append(line(name, found))
    finally:
        thread.close()
    return lines


def _sign_in(proxy: http.client.HTTPSConnection, headers: Mapping[str, str]) -> str:
    signing_in = Asked("/post.cgi?signin", "POST", content_type=FORM, own_password="signin")
    for account in (ADMINISTRATOR, (ADMINISTRATOR[0], "another long secret")):
        found, cookie = _ask(proxy, signing_in, headers, account)
        if found:
            return cookie
    raise AssertionError("the administrator could not sign in")


def _ask(
    proxy: http.client.HTTPSConnection,
    sent: Asked,
    headers: Mapping[str, str],
    account: tuple[str, str] = ADMINISTRATOR,
) -> tuple[bool, str]:
    body = own_password(account, sent) or sent.body
    more = {"Content-Type": sent.content_type} if sent.content_type else {}
    proxy.request(sent.method, sent.target, body, {**headers, **more})
    with proxy.getresponse() as answer:
        answer.read()
        cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        return not _is_refused(answer.status, answer.getheader("Location") or ""), cookie


def head() -> list[str]:
    names = [group.name for group in groups()]
    return [f"| client | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]


def read_page() -> list[str]:
    """The table as the page has it."""
    text = PAGE.read_text(encoding="utf-8")
    return text.partition(BEGIN)[2].partition(END)[0].strip().splitlines()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = [*head(), *asyncio.run(rows_in_process()), *rows_behind_nginx(Path(folder))]
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
