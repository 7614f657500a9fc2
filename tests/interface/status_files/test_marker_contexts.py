"""How values are written where a marker stands, so that they stay text there."""

import json
import string
from xml.etree import ElementTree

from leverframe.interface.status_files.markers import READERS, fill_markers
from tests.cases import for_each

#: What ends something, begins something, or is more than one letter somewhere.
HOSTILE = "</script>'\"`${alert(1)}\\ &amp;\n\u2028🚀é-->]]>;=#?%41/../x"


def write_marker(page: str, value: str, kind: str = "html") -> str:
    return fill_markers(page.encode(), READERS[kind](), {"m": value}).decode()


def write_alone(page: str, value: str, kind: str = "html") -> str:
    """What stands in place of the marker."""
    before, _, after = page.partition("<--#m-->")
    result = write_marker(page, value, kind)
    assert result.startswith(before)
    assert result.endswith(after)
    return result[len(before) : len(result) - len(after)]


@for_each(
    ("page", "expected"),
    [
        ("<p><--#m--></p>", "a&#32;&#38;b"),
        ("<p title='<--#m-->'>", "a&#32;&#38;b"),
        ("<p title=<--#m--> id=x>", "a&#32;&#38;b"),
        ("<!-- > <--#m--> -->", "a&#32;&#38;b"),
        ("<!doctype html><--#m-->", "a&#32;&#38;b"),
        ("1 < 2 <--#m-->", "a&#32;&#38;b"),
        ("<script>a < b</script><--#m-->", "a&#32;&#38;b"),
        ("<style></style><--#m-->", "a&#32;&#38;b"),
        ("<p title='<--#m-->", "a&#32;&#38;b"),
        ('<p hidden title="<--#m-->"/>', "a&#32;&#38;b"),
        ('<meta name=x content="<--#m-->">', "a&#32;&#38;b"),
        ('<iframe srcdoc="<p><--#m--></p>">', "a&#38;&#35;32&#59;&#38;&#35;38&#59;b"),
        ('<a href="/x?y=<--#m-->&z">', "a%20%26b"),
        ("<a HREF = <--#m-->>", "a%20%26b"),
        ('<use xlink:href="<--#m-->"/>', "a%20%26b"),
        ('<meta content="0; url=<--#m-->">', "a%20%26b"),
        ("<a href=\" JavaScript:f('<--#m-->')\">", "a%5Cu0020%5Cu0026b"),
        ("<p onclick=\"f('<--#m-->')\">", "a\\u0020\\u0026b"),
        ('<p style="color: <--#m-->">', "a\\000020\\000026b"),
        ("<style>p { color: <--#m-->", "a\\000020\\000026b"),
        ("<script>f(`<--#m-->`)", "a\\u0020\\u0026b"),
        ("<svg:script>f('<--#m-->')", "a\\u0020\\u0026b"),
        ("<script src=x.js>fetch('/outs.cgi?n=<--#m-->')", "a%20%26b"),
        ("<<--#m-->>", "<--#m-->"),
        ("</<--#m-->>", "<--#m-->"),
        ("<p <--#m-->=x>", "<--#m-->"),
        ('<p title="x"<--#m-->>', "<--#m-->"),
    ],
)
def test_value_is_written_as_its_place_in_a_page_needs_it(page: str, expected: str) -> None:
    assert write_alone(page, "a &b") == expected


@for_each(
    ("script", "expected"),
    [
        ('f("<--#m-->")', "a\\u0020\\u0026b"),
        ("f('x <--#m-->')", "a\\u0020\\u0026b"),
        ("f('Really? <--#m-->')", "a\\u0020\\u0026b"),
        ('f("/x/<--#m-->")', "a%20%26b"),
        ("f('outs.cgi?out0=1&n=<--#m-->')", "a%20%26b"),
        ("f(`http://h/<--#m-->`)", "a%20%26b"),
        ("f('../<--#m-->')", "a%20%26b"),
    ],
)
def test_value_in_a_script_is_part_of_a_string_or_of_an_address(script: str, expected: str) -> None:
    assert write_alone(script, "a &b", "js") == expected


def test_two_values_in_one_place_are_written_alike() -> None:
    assert write_marker("<a href=/x?<--#m-->&<--#m-->>", "a b") == "<a href=/x?a%20b&a%20b>"
    assert write_marker("f('/<--#m-->/<--#m-->')", "a b", "js") == "f('/a%20b/a%20b')"
    assert write_marker("<i title=<--#m--><--#m-->>", "a b") == "<i title=a&#32;ba&#32;b>"


@for_each("number", ["0", "215", "-600", "21.5"])
def test_number_stays_a_number(number: str) -> None:
    for page in ("<p><--#m--></p>", "<script>x = <--#m-->;", "<p style='width: <--#m-->px'>"):
        assert write_alone(page, number) == number


def test_unknown_marker_stays_and_disturbs_nothing() -> None:
    page = "<!-- <--#no--> --><a href='<--#no-->/<--#m-->'>"
    assert write_marker(page, "a b") == page.replace("<--#m-->", "a%20b")


def test_bytes_that_are_no_utf8_stay_as_they_are() -> None:
    page = b"<p title='\xe9'><--#m--></p>"
    assert fill_markers(page, READERS["html"](), {"m": "&"}) == b"<p title='\xe9'>&#38;</p>"


def test_value_keeps_its_letters_in_json_and_xml() -> None:
    everything = HOSTILE + string.punctuation
    assert json.loads(write_marker('"<--#m-->"', everything, "json")) == everything
    element = ElementTree.fromstring(write_marker('<a b="<--#m-->"><--#m--></a>', HOSTILE, "svg"))
    shown = HOSTILE.replace("\n", "\ufffd")
    assert (element.text, element.attrib["b"]) == (shown, shown)


def test_text_file_has_the_value_as_it_is() -> None:
    assert write_marker("<--#m-->", HOSTILE, "txt") == HOSTILE
