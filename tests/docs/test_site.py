"""The site that `make docs` builds: complete, no dead link, nothing from other hosts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS, PROJECT

#: Sphinx as `python -m sphinx` runs it, but without stemming for the search, which needs an
#: eighth of the processor time, and without garbage collection, which needs a fifth.
SPHINX = """
import gc
import sys
gc.disable()
from sphinx.cmd.build import main
from sphinx.search.en import SearchEnglish
SearchEnglish.stem = lambda self, word: word.lower()
sys.exit(main())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build as strictly as the Makefile, by one process, which needs less processor time."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-c", SPHINX, "--quiet", "--fail-on-warning", "--keep-going"]
    built = subprocess.run(
        [*command, "-d", str(folder / ".doctrees"), str(DOCS), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder


@pytest.mark.long
def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert [str(page) for page in pages if not (site / page).exists()] == []


@pytest.mark.long
def test_site_loads_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(?:https?:)?//[^\"]*"
        r"|<link\b[^>]*\brel=\"(?:stylesheet|preload|preconnect)\"[^>]*\bhref=\"(?:https?:)?//[^\"]*"
        r"|url\(['\"]?(?:https?:)?//[^)]*|@import[^;]*//[^;]*"
    )
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    found = {x[0] for path in files for x in loaded.finditer(path.read_text(encoding="utf-8"))}
    assert found == set()


def test_makefile_builds_the_site_the_same_way() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert "-m sphinx --quiet --fail-on-warning --keep-going --jobs 2 docs build/site" in makefile
