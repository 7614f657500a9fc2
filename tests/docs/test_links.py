"""Every link in the documents has an existing target."""

import re
from pathlib import Path

from docs._ext.markdown import anchor
from tests.cases import for_each
from tests.docs.blocks import DOCUMENTS, name_of

_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(document: Path) -> set[str]:
    text = re.sub(r"^ *```.*?^ *```$", "", document.read_text("utf-8"), flags=re.M | re.S)
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def find_broken_links(document: Path) -> list[str]:
    found = []
    for target, place in _LINK.findall(without_code(document.read_text(encoding="utf-8"))):
        path = document.parent / target if target else document
        if not path.exists() or (place and place not in anchors(path)):
            found.append(f"{target}#{place}")
    return found


@for_each("document", DOCUMENTS, ids=name_of)
def test_links_have_existing_targets(document: Path) -> None:
    assert find_broken_links(document) == []


def test_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](#one) [b](#two) [c](no.md)\n", encoding="utf-8")
    assert find_broken_links(page) == ["#two", "no.md#"]
