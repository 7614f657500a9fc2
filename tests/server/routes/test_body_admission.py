"""Who may send a body is decided by the head of the request, as the request itself would be."""

from collections.abc import Coroutine

from leverframe.server.http.messages import AnyReply, Reply, Request
from leverframe.testing import LoopTwin
from tests.cases import for_each
from tests.server.signing_up import ADMINISTRATOR, CONTROL_USER, USER, basic, start_with_accounts

UPLOADS = ("pictureupload", "wwwfileupload", "sched_save", "users_save")


async def verdict(twin: LoopTwin, target: str, method: str = "POST", **headers: str) -> int:
    path, mark, query = target.partition("?")
    request = Request(method, path, query if mark else None, headers, peer="192.0.2.1")
    answer = twin.web.admit_body(request)
    reply: AnyReply = await answer if isinstance(answer, Coroutine) else answer
    assert isinstance(reply, Reply)
    return reply.status


@for_each("upload", UPLOADS)
async def test_only_the_administrator_may_begin_to_upload(upload: str) -> None:
    twin, target = await start_with_accounts(), f"/post.cgi?{upload}"
    assert await verdict(twin, target) == 401
    assert await verdict(twin, target, authorization=basic("chief", "wrong")) == 401
    assert await verdict(twin, target, authorization=basic(*USER)) == 403
    assert await verdict(twin, target, authorization=basic(*CONTROL_USER)) == 403
    assert await verdict(twin, target, authorization=basic(*ADMINISTRATOR)) == 100
    # Known by now, so that nothing is waited for.
    assert await verdict(twin, target, authorization=basic(*ADMINISTRATOR)) == 100


async def test_sign_in_body_is_admitted_from_all_clients() -> None:
    twin = await start_with_accounts()
    assert await verdict(twin, "/post.cgi?signin") == 100
    assert await verdict(twin, "/post.cgi?passwd") == 401
    assert await verdict(twin, "/post.cgi?passwd", authorization=basic(*USER)) == 100


async def test_body_for_other_paths_needs_what_the_path_needs() -> None:
    twin = await start_with_accounts()
    for target in ("/api/rules/try", "/", "/nothing", "/post.cgi"):
        anonymous = 100 if target == "/" else 401
        assert await verdict(twin, target) == anonymous
        assert await verdict(twin, target, authorization=basic(*ADMINISTRATOR)) == 100
    assert await verdict(twin, "/api/rules/try", authorization=basic(*USER)) == 403
    assert await verdict(twin, "/post.cgi?unknown", authorization=basic(*ADMINISTRATOR)) == 404


async def test_body_from_a_foreign_page_or_to_a_foreign_name_is_not_read() -> None:
    twin = await LoopTwin.start()
    assert await verdict(twin, "/post.cgi?pictureupload") == 100
    foreign = {"origin": "http://evil.example", "host": "localhost"}
    assert await verdict(twin, "/post.cgi?pictureupload", **foreign) == 403
    assert await verdict(twin, "/post.cgi?pictureupload", host="evil.example") == 403


async def test_bootloader_takes_no_body() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?upgrade=devstart3")
    assert await verdict(twin, "/post.cgi?pictureupload") == 503


async def test_page_of_an_uploaded_site_sends_no_body() -> None:
    """It would not be read: a command in it would be answered and not carried out."""
    twin = await LoopTwin.start()
    assert await verdict(twin, f"/site-session/{'0' * 64}/outs.cgi") == 403
