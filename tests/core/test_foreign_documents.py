"""JSON and XML of strangers are read within limits, and what is within them is read as it is."""

import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.foreign_documents import (
    MAX_DEPTH,
    MAX_JSON_SIGNS,
    MAX_XML_BYTES,
    MAX_XML_ELEMENTS,
    BadDocument,
    XmlElement,
    read_json,
    read_json_object,
    read_xml,
)
from leverframe.interface.status_files.forms import NotReadable
from leverframe.interface.status_files.settings_reader import keys_in
from tests.cases import for_each

ENTITIES = b"""<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>
<response><x>&b;</x></response>"""
MEGABYTE = 1024 * 1024

documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def depth_of(document: object) -> int:
    inner: list[object] = []
    if isinstance(document, dict):
        inner = list(document.values())
    elif isinstance(document, list):
        inner = document
    else:
        return 0
    return 1 + max(map(depth_of, inner), default=0)


@given(documents)
def test_json_within_the_limits_is_read_as_it_is(document: object) -> None:
    body = json.dumps(document).encode()
    if depth_of(document) <= MAX_DEPTH:
        assert read_json(body) == document


@for_each(
    ("body", "why"),
    [
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "levels"),
        (b'{"a":' * (MAX_DEPTH + 1) + b"0" + b"}" * (MAX_DEPTH + 1), "levels"),
        (b"[" * MEGABYTE, "levels"),
        (b"[" + b"0," * 2 * MAX_JSON_SIGNS + b"0]", "values"),
        (b"[" + b'"",' * 2 * MAX_JSON_SIGNS + b"0]", "values"),
        (b'{"a":"' + b'\\"' * (MEGABYTE // 2), "not JSON"),
        (b'"' * MEGABYTE, "values"),
        (b"\xff\xfe", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_json_beyond_the_limits_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(BadDocument, match=why):
        read_json(body)


def test_brackets_in_texts_do_not_count() -> None:
    text = "[{,:" * MAX_JSON_SIGNS
    assert read_json(json.dumps([text, 'a"[\\']).encode()) == [text, 'a"[\\']


def test_document_that_is_no_object_is_refused() -> None:
    assert read_json_object(b'{"a":1}') == {"a": 1}
    with pytest.raises(BadDocument, match="not a JSON object"):
        read_json_object(b"[]")


def as_tree(element: ElementTree.Element) -> XmlElement:
    return XmlElement(
        element.tag, dict(element.attrib), element.text or "", [as_tree(one) for one in element]
    )


@for_each(
    "text",
    [
        "<response><a>1</a><b/></response>",
        '<?xml version="1.0" encoding="iso-8859-1"?><r x="1">é<b>&lt;&amp;</b>tail</r>',
        "<r><![CDATA[<x>]]><!-- nothing --><b> </b></r>",
    ],
)
def test_xml_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert read_xml(text) == as_tree(ElementTree.fromstring(text))
    body = text.encode("iso-8859-1")
    assert read_xml(body) == as_tree(ElementTree.fromstring(body))


@for_each(
    ("body", "why"),
    [
        (b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1), "levels"),
        (b"<r>" + b"<a/>" * MAX_XML_ELEMENTS + b"</r>", "elements"),
        (b"<r>" + b" " * MAX_XML_BYTES + b"</r>", "bytes"),
        (ENTITIES, "document type"),
        (ENTITIES.decode().encode("utf-16"), "document type"),
        (b"<!doctype html><html/>", "not XML"),
        (b"<r>", "not XML"),
        (b"", "not XML"),
        (b"<r>&unknown;</r>", "not XML"),
        (b'<?xml version="1.0" encoding="rot13"?><r/>', "not XML"),
    ],
)
def test_xml_beyond_the_limits_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(BadDocument, match=why):
        read_xml(body)


@for_each(
    "body",
    [b"<response><a><b/></a></response>", b"<other/>", b"<response><a/><a/></response>", ENTITIES],
)
def test_status_file_is_a_list_of_values_and_nothing_else(body: bytes) -> None:
    with pytest.raises(NotReadable):
        keys_in("/xml/ix.xml", body)
    assert keys_in("/xml/ix.xml", b"<response><a>1</a><b></b></response>") == {"a": "1", "b": ""}


@for_each(
    ("read", "body"),
    [
        (read_xml, b"<a>" * MEGABYTE),
        (read_xml, b"<a>" * 35_000 + b"</a>" * 35_000),
        (read_xml, b"<r>" + b"<a/>" * 65_000 + b"</r>"),
        (read_xml, b"<r " + b" ".join(b'a%d=""' % n for n in range(25_000)) + b"/>"),
        (read_json, b"[" + b"[]," * 330_000 + b"0]"),
        (read_json, b"[" + b"0," * (MAX_JSON_SIGNS - 10) + b"0]"),
    ],
)
def test_no_document_costs_more_than_a_few_megabytes(
    read: Callable[[bytes], object], body: bytes
) -> None:
    tracemalloc.start()
    try:
        with suppress(BadDocument):
            read(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MEGABYTE
