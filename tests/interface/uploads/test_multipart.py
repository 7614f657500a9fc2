"""Files in forms: what browsers and clients send is taken byte for byte, anything else refused."""

from random import Random

import httpx
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.errors import BadUpload
from leverframe.interface.table.bodies import MAX_HEADER_BYTES, read_upload
from tests.cases import for_each
from tests.effort import examples
from tests.fuzzed_uploads import fuzz

KIND = "multipart/form-data; boundary=edge"
PART = b'Content-Disposition: form-data; name="file"; filename="x.bin"\r\n\r\n'
CONTENT = b"PNG\r\n--edg\r\n\x00\xff--edge"
FORM = b"--edge\r\n" + PART + CONTENT + b"\r\n--edge--\r\n"


def test_file_of_a_form_is_its_only_part() -> None:
    assert read_upload(FORM, KIND) == CONTENT
    assert read_upload(FORM, 'Multipart/Form-Data; charset=utf-8; BOUNDARY="edge"') == CONTENT


@for_each(
    "kind", ["", "application/octet-stream", "application/x-www-form-urlencoded", "image/png"]
)
def test_any_other_body_is_the_file_itself(kind: str) -> None:
    assert read_upload(FORM, kind) == FORM


@examples(100)
@given(st.binary(max_size=200), st.text(min_size=1, max_size=20))
def test_forms_of_http_libraries_are_taken_byte_for_byte(content: bytes, name: str) -> None:
    for request in (
        httpx.Request("POST", "http://unit/", files={"file": (name, content)}),
        requests.Request("POST", "http://unit/", files={"f": (name, content)}).prepare(),
    ):
        body = request.read() if isinstance(request, httpx.Request) else request.body
        assert isinstance(body, bytes)
        assert read_upload(body, request.headers["content-type"]) == content


@for_each(
    "body",
    [
        FORM[:-2],
        FORM + b"\r\n",
        b"--edge \t\r\n" + PART + CONTENT + b"\r\n--edge--",
        # A field instead of a file, as curl -F 'file=<NAME' sends it.
        FORM.replace(b'; filename="x.bin"', b""),
        FORM.replace(b"\r\n\r\n", b"\r\nContent-Type: image/png\r\n\r\n", 1),
        FORM.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: BINARY\r\n\r\n", 1),
    ],
)
def test_unusual_forms_are_read(body: bytes) -> None:
    assert read_upload(body, KIND) == CONTENT


@for_each(
    ("body", "why"),
    [
        (FORM.replace(b"--edge--", b"--edge\r\n" + PART + b"2\r\n--edge--"), "several parts"),
        (b"--edge--\r\n", "contains no file"),
        (b"", "does not begin"),
        (b"\r\n" + FORM, "does not begin"),
        (FORM[1:], "does not begin"),
        (FORM[: FORM.index(b"\r\n--edge--")], "closing boundary is missing"),
        (FORM.replace(b"\r\n--edge--", b"\r\n--other--"), "closing boundary is missing"),
        (FORM + b"more", "data after its end"),
        (FORM.replace(b"--edge\r\n", b"--edgewise\r\n", 1), "not followed by a line end"),
        (FORM.replace(b"--edge--", b"--edgewise--"), "not followed by a line end"),
        (b"--edge\n" + PART.replace(b"\r", b"") + b"x\n--edge--", "not followed by a line end"),
        (b"--edge\r\n" + b"x" * MAX_HEADER_BYTES + FORM, "no end, or are too long"),
        (b"--edge\r\nno header\r\n\r\nx\r\n--edge--", "header of its file cannot be read"),
        (FORM.replace(b"form-data", b"attachment"), "not a form field"),
        (
            FORM.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1),
            "encoded for mail",
        ),
        (
            FORM.replace(b"\r\n\r\n", b"\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n", 1),
            "contains several files",
        ),
    ],
)
def test_form_that_is_none_is_refused_with_the_reason(body: bytes, why: str) -> None:
    with pytest.raises(BadUpload, match=why) as refusal:
        read_upload(body, KIND)
    assert "curl -F file=@NAME" in str(refusal.value)


@for_each(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        f"multipart/form-data; boundary={'x' * 71}",
        'multipart/form-data; boundary="ends with a space "',
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/form-data; boundary=é",
    ],
)
def test_form_without_a_proper_boundary_is_refused(kind: str) -> None:
    with pytest.raises(BadUpload, match="names no boundary"):
        read_upload(FORM, kind)


def test_damaged_form_is_refused_or_holds_one_whole_file() -> None:
    for body in fuzz(FORM, Random(7), 500):
        try:
            found = read_upload(body, KIND)
        except BadUpload:
            continue
        assert b"\r\n--edge" not in found
