"""The page of the status files: every key of every file."""

from collections.abc import Iterator
from itertools import groupby

from docs._ext.markdown import code, prose, table
from leverframe.interface import status_files

_OPENING = """\
# Status files

Every value is a text, even a number, because clients of these controllers compare texts. The
scale converts it to the real value: "/10" means that the text is ten times the value. Keys appear
in the order shown.
"""


def files_page() -> str:
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield _OPENING.rstrip()
    for path, keys in groupby(status_files.describe(), key=lambda described: described.path):
        yield f"\n## {code(path)}\n"
        yield f"{prose(status_files.FILES[path].doc)}\n"
        yield table(
            ("key", "meaning", "scale", "in"),
            [(code(x.key), prose(x.meaning), prose(x.scale), x.when) for x in keys],
        )
