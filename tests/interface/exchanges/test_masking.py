"""No secret is in what is written down of an exchange, and everything else is."""

from base64 import b64encode
from urllib.parse import quote

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from leverframe.interface.exchange import (
    MAX_TEXT_BYTES,
    REQUEST_HEADERS,
    SECRET_REQUEST_HEADERS,
    mask_address,
    mask_answer,
    mask_headers,
    mask_request,
)
from leverframe.interface.table.lookup import TABLE
from tests.cases import for_each
from tests.effort import examples
from tests.host.test_secrets_stay_inside import PLANTED, canary

SECRET = "Zq7geheim"


def write_exchange(path: str, query: str | None = None, kind: str = "", body: bytes = b"") -> str:
    request = mask_request(path, query, kind, body)
    return msgspec.json.encode([request.path, request.query, request.body]).decode()


@for_each("paths", PLANTED, ids=str)
def test_no_secret_of_a_command_is_written_down(paths: tuple[str, ...]) -> None:
    target, body = PLANTED[paths]
    path, _, query = target.partition("?")
    text = write_exchange(path, query, "application/x-www-form-urlencoded", body or b"")
    for name in paths:
        assert canary(name) not in text
        assert b64encode(canary(name).encode()).decode() not in text
    assert mask_request(path, query, "", body or b"").is_masked


SECRET_ROWS = [row for row in TABLE if row.secret and row.body is None]


@for_each("row", SECRET_ROWS, ids=lambda row: row.line)
def test_every_row_of_the_table_that_is_secret_is_masked(row) -> None:  # type: ignore[no-untyped-def]
    query = "&".join(f"{item.text.partition('=')[0]}={SECRET}" for item in row.form.items)
    query = query.replace("<A>", "1")
    assert SECRET not in write_exchange(row.form.path, query)
    assert SECRET not in write_exchange(row.form.path, None, "", query.encode())


@for_each(
    ("path", "query"),
    [
        ("/stm.cgi", f"em4=pa&{SECRET}"),
        ("/stm.cgi", f"em4=pa&{SECRET}=1"),
        ("/stm.cgi", f"%65m4={SECRET}"),
        ("/eeprom.cgi", f"emm4={SECRET}"),
        ("/sim.cgi", f"sms=%2B48123:{SECRET}:out0=1"),
        ("/anything", f"user=me&password={SECRET}"),
        ("/anything", f"api_key={SECRET}"),
        ("/anything", f"accessToken={SECRET}"),
        (f"/stm.cgi%3Fem4={SECRET}", None),
        (f"/stm.cgi%3Fem4%3D{SECRET}", None),
        (f"/site-session/{SECRET}/index.html", None),
    ],
)
def test_secret_in_an_unusual_place_is_masked(path: str, query: str | None) -> None:
    assert SECRET not in write_exchange(path, query)
    assert mask_request(path, query, "", b"").is_masked


@for_each(
    ("kind", "body"),
    [
        ("application/json", f'{{"user": "me", "password": "{SECRET}"}}'),
        ("application/json", f'{{"password": "{SECRET}"'),
        ("application/x-www-form-urlencoded", f"a=1&password={SECRET}"),
        ("multipart/form-data; boundary=x", f'--x\r\nname="p"\r\n\r\n{SECRET}\r\n--x--'),
        ("application/octet-stream", f"\x00{SECRET}"),
        ("text/plain", "x" * MAX_TEXT_BYTES + SECRET),
    ],
)
def test_secret_in_a_body_is_masked(kind: str, body: str) -> None:
    assert SECRET not in write_exchange("/anything", None, kind, body.encode())


@for_each(
    ("path", "query", "body"),
    [
        ("/outs.cgi", "out0=1", b""),
        ("/json/status.json", None, b""),
        ("/api/history", "labels=DS1,OUT0&from=1&points=600", b""),
        ("/sim.cgi", "DS1=21.5&INPD2=0", b""),
        ("/post.cgi", "signin", b""),
        ("/stm.cgi", "event=0*1", b""),
        ("/stm.cgi", "em1=mail.example", b""),
        ("/outs.cgi", None, b"out0=1&out1=0"),
        ("/post.cgi", "sched_save", b"&s0=1*2&&"),
    ],
)
def test_request_without_secrets_is_recorded_unchanged(
    path: str, query: str | None, body: bytes
) -> None:
    request = mask_request(path, query, "", body)
    assert (request.path, request.query, request.body.content()) == (path, query, body)
    assert not request.is_masked


@given(
    secret=st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=8, max_size=30),
    before=st.sampled_from(["", "out0=1&", "em3=me&"]),
    after=st.sampled_from(["", "&out0=1", "&em5=a@example.org"]),
)
@examples(200)
def test_password_is_gone_whatever_stands_beside_it(secret: str, before: str, after: str) -> None:
    secret = f"7Q{secret}"
    query = f"{before}em4={quote(secret)}{after}"
    assert secret not in write_exchange("/stm.cgi", query)
    answer = f"<response><said>{secret}</said></response>".encode()
    hidden = mask_request("/stm.cgi", query, "", b"").hidden
    assert secret not in mask_answer("/stm.cgi", "text/xml", answer, hidden).text


def test_only_the_presence_of_sign_in_headers_is_recorded() -> None:
    headers = {
        **{"authorization": f"Basic {SECRET}", "cookie": SECRET, "backup-passphrase": SECRET},
        **{"x-api-key": SECRET, "accept": "*/*"},
    }
    found = mask_headers(headers, REQUEST_HEADERS, SECRET_REQUEST_HEADERS)
    assert found == {
        **{"accept": "*/*", "authorization": "***", "cookie": "***", "backup-passphrase": "***"}
    }


@for_each(
    ("kind", "text"),
    [
        ("application/json", f'{{"email": {{"password": "{SECRET}"}}}}'),
        ("application/json", f'{{"settings": {{"http": [{{"url": "https://a/{SECRET}"}}]}}}}'),
        ("application/json", f'{{"http": [{{"body": "{SECRET}"}}]}}'),
        ("application/json", f'{{"em4": "{SECRET}"}}'),
        ("application/json", f'[{{"method": "GET", "url": "http://a/{SECRET}", "body": "x"}}]'),
        ("application/json", f'{{"method": "GET", "url": "http://me:{SECRET}@a/b"}}'),
        ("application/json", f'{{"sms": {{"received": [{{"text": "{SECRET}:out0"}}]}}}}'),
        ("application/json", "[" * 3000 + f'{{"password": "{SECRET}"}}' + "]" * 3000),
        ("application/json", f'{{"em4": "{SECRET}", broken'),
        ("text/xml", f"<response><em4>{SECRET}</em4></response>"),
        ("text/xml", f"<response><gsmapn>{SECRET}</gsmapn></response>"),
        ("text/html", f'<input type="password" value="{SECRET}">'),
        ("text/html", f"<input value={SECRET} name=userpass>"),
        ("text/javascript", f'let x = {{"password": "{SECRET}"}}'),
        ("", f'{{"password": "{SECRET}"}}'),
        ("text/event-stream", f"data: {SECRET}\n\n"),
        ("application/octet-stream", f"\x00{SECRET}"),
    ],
)
def test_secret_in_an_answer_is_masked(kind: str, text: str) -> None:
    assert SECRET not in mask_answer("/x", kind, text.encode()).text


def test_backup_is_left_out_whatever_it_looks_like() -> None:
    body = mask_answer("/dev_settings.bin", "text/plain", b"em4=abc")
    assert (body.text, body.left_out, body.size) == ("", "secret", 7)


def test_answer_that_repeats_a_secret_is_left_out() -> None:
    hidden = mask_request("/x", f"password={quote(SECRET)}", "", b"").hidden
    body = mask_answer("/x", "text/plain", f"You sent {SECRET}.".encode(), hidden)
    assert (body.text, body.left_out) == ("", "secret")
    accounts = b64encode(SECRET.encode()).decode()
    hidden = mask_request("/stm.cgi", f"auth=11{accounts}*x", "", b"").hidden
    assert SECRET not in mask_answer("/x", "", f"{accounts}".encode(), hidden).text


def test_answer_without_secrets_is_recorded_unchanged() -> None:
    text = '{"ds1": "215", "passed": "3", "email": {"host": "a", "password": null}}'
    assert mask_answer("/x", "application/json", text.encode()).text == text


def test_text_that_is_no_utf8_stays_what_it_was() -> None:
    body = mask_answer("/x", "text/xml", "<a>°C</a>".encode("latin-1"))
    assert body.content() == "<a>°C</a>".encode("latin-1")
    assert mask_answer("/x", "image/png", b"\x89PNG\r\n").left_out == "file"


def test_beginning_of_a_large_answer_is_left_out() -> None:
    body = mask_answer("/x", "text/plain", b"x" * 10, size=MAX_TEXT_BYTES * 3)
    assert (body.left_out, body.size) == ("large", MAX_TEXT_BYTES * 3)


def test_address_is_masked_where_it_leads_to_a_secret() -> None:
    assert mask_address("/site-session/abc/x") == "/site-session/***/x"
    assert mask_address("https://unit:81/next?a=1") == "https://unit:81/next?a=1"
    assert mask_address("/next?token=abc") == "/next?token=***"
