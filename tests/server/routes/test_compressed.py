"""Pages and fixed documents go out packed, and only where they are not there already."""

import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leverframe
from leverframe.server.routes.pages import PageFiles, PageUnreadable, pages
from leverframe.testing import LoopTwin
from tests.cases import for_each

LINKED = re.compile(r'(?:href|src)="([^"]+)"')
PATHS = ("/", "/web/style.css", "/web/words/frame.json", "/api/commands")


@for_each("path", PATHS)
async def test_client_that_accepts_gzip_gets_the_same_content_compressed(path: str) -> None:
    twin = await LoopTwin.start()
    plain = await twin.ask(path)
    packed = await twin.ask(path, accept_encoding="deflate, gzip;q=1.0, br")
    assert ("Content-Encoding", "gzip") in packed.headers
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body)


@for_each("accepted", ["", "br", "gzip;q=0", "gzip; q=0.0"])
async def test_client_that_does_not_accept_gzip_gets_it_uncompressed(accepted: str) -> None:
    reply = await (await LoopTwin.start()).ask("/web/style.css", accept_encoding=accepted)
    assert "Content-Encoding" not in dict(reply.headers)
    assert reply.body.startswith(b"/*")


@for_each("path", PATHS)
async def test_cached_file_is_not_sent_again(path: str) -> None:
    twin = await LoopTwin.start()
    tag = dict((await twin.ask(path)).headers)["ETag"]
    again = await twin.ask(path, if_none_match=f'"other", {tag}')
    assert (again.status, again.body) == (304, b"")
    assert (await twin.ask(path, if_none_match='"other"')).status == 200


async def test_first_view_is_small() -> None:
    """Everything that the frame links, and what it asks for first: packed."""
    twin = await LoopTwin.start()
    frame = (await twin.ask("/")).body.decode()
    linked = [path for path in LINKED.findall(frame) if path in pages() or path == "/api/start"]
    assert "/api/start" in linked
    assert any(path.endswith("/app.js") for path in linked)
    packed = [len((await twin.ask(path, accept_encoding="gzip")).body) for path in ("/", *linked)]
    assert sum(packed) < 160_000


#: In a process of its own: what other tests have left running there would be counted, too.
MEMORY_OF_PAGES = """
import tracemalloc
from leverframe.server.routes.pages import pages
tracemalloc.start()
loaded = pages()
print(*tracemalloc.get_traced_memory(), len(loaded))
"""


def test_unrequested_pages_use_no_memory() -> None:
    report = subprocess.check_output([sys.executable, "-c", MEMORY_OF_PAGES], text=True)
    kept, peak, count = map(int, report.split())
    assert count == len(pages())
    assert kept < 100_000
    # What is let go again stays with the process, if what is kept lies behind it.
    assert peak < 600_000


def test_file_that_was_replaced_on_the_disk_is_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / "web"
    shutil.copytree(Path(leverframe.__file__).parent / "web", folder)
    files = PageFiles(folder)
    assert files.part("app.js").plain() == (folder / "app.js").read_bytes()
    (folder / "app.js").write_text("// another version\n")
    with pytest.raises(PageUnreadable, match="restart it"):
        files.part("app.js")
    (folder / "app.js").unlink()
    with pytest.raises(PageUnreadable, match="No such file"):
        files.start_of_front()
