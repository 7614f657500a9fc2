"""Large uploads to a path with doubled slashes: as to the path itself, where that is lenient."""

import os
from pathlib import Path

import pytest

from leverframe.interface.uploads.site import pack_site
from tests.host.controller_process import controller_process

#: More than any other path takes.
SITE = pack_site({"index.html": b"<title>Cellar</title>", "noise.bin": os.urandom(200_000)})


@pytest.mark.thorough
@pytest.mark.parametrize(("options", "status"), [((), 413), (("--lenient",), 200)])
def test_only_a_lenient_controller_accepts_a_large_site_at_doubled_slashes(
    tmp_path: Path, options: tuple[str, ...], status: int
) -> None:
    with controller_process(tmp_path, *options) as process:
        target = "//post.cgi?wwwfileupload"
        assert process.ask(target, "POST", SITE)[0] == status
        kept = process.ask("/index.html")
        assert (b"Cellar" in kept[1]) == (status == 200)
        if options:
            # Without any sign of a body, as at the path itself.
            assert process.ask(target, "POST")[0] == process.ask(target[1:], "POST")[0]
