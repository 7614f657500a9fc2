"""The page on which people sign in: why it failed, in their language, and what it offers."""

from tests.cases import for_each
from tests.server.signing_up import (
    ADMINISTRATOR,
    BROWSER,
    OWN_PAGE,
    USER,
    cookie_of,
    sign_in,
    start_with_accounts,
)


@for_each(
    ("spoken", "sentence"),
    [
        ("de-DE, en;q=0.7", "The user name or password is wrong."),
        ("pl-PL,pl;q=0.9,en;q=0.8", "Nazwa użytkownika lub hasło są błędne."),
        ("fr", "Le nom d’utilisateur ou le mot de passe est faux."),
        ("hu", "A felhasználónév vagy a jelszó hibás."),
        ("cs-CZ", "Uživatelské jméno nebo heslo je chybné."),
        ("", "The user name or password is wrong."),
    ],
)
async def test_person_reads_on_the_page_in_their_language_why_signing_in_failed(
    spoken: str, sentence: str
) -> None:
    twin = await start_with_accounts()
    reply = await sign_in(twin, ("chief", "wrong"), accept_language=spoken, accept=BROWSER)
    assert (reply.status, reply.content_type) == (401, "text/html")
    assert sentence in reply.body.decode()
    assert 'value="chief"' in reply.body.decode()
    assert "Set-Cookie" not in dict(reply.headers)


async def test_program_gets_the_refusal_as_a_problem() -> None:
    twin = await start_with_accounts()
    reply = await sign_in(twin, ("chief", "wrong"), accept="*/*", accept_language="pl")
    assert (reply.status, reply.content_type) == (401, "application/problem+json")
    assert b"The user name or password is wrong." in reply.body


async def test_typed_text_is_no_markup_on_the_page() -> None:
    twin = await start_with_accounts()
    reply = await sign_in(twin, ("%22%3E%3Cb%3Ex", "wrong"), accept=BROWSER)
    assert b"<b>" not in reply.body
    assert b'value="&quot;&gt;&lt;b&gt;x"' in reply.body


async def test_page_says_how_long_to_wait_after_too_many_tries() -> None:
    twin = await start_with_accounts()
    for _ in range(20):
        reply = await sign_in(twin, ("chief", "wrong"), accept_language="hu", accept=BROWSER)
    assert (reply.status, reply.content_type) == (429, "text/html")
    seconds = dict(reply.headers)["Retry-After"]
    assert f"próbálja újra {seconds} mp múlva" in reply.body.decode()


async def test_refused_password_is_explained_above_its_form() -> None:
    twin = await start_with_accounts()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))
    body = b"username=chief&password=long+admin+secret&new=short"
    own = {"cookie": cookie, "origin": OWN_PAGE}
    reply = await twin.ask("/post.cgi?passwd", "POST", body, **own, accept=BROWSER)
    page = reply.body.decode()
    assert (reply.status, reply.content_type) == (400, "text/html")
    assert page.index("/post.cgi?passwd") < page.index("12 to 128") < page.index('id="own-new"')


async def test_only_who_is_signed_in_is_offered_to_sign_out_or_change_a_password() -> None:
    twin = await start_with_accounts()
    cookie = cookie_of(await sign_in(twin, USER))
    for session, offered in (("", False), (cookie, True)):
        page = (await twin.ask("/signin", accept=BROWSER, cookie=session)).body
        assert (b"?signout" in page, b"?passwd" in page) == (offered, offered)
