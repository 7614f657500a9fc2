"""`leverframe site`: make the archive of a web site, and go back to the built-in pages.

`build` reads a folder: links are refused, files whose name begins with a dot are left out. `reset`
is for whoever has the data folder in their hands and no page to go to; the controller must be
stopped. `/?safe` reaches the built-in pages without that.
"""

import argparse
import asyncio
from collections.abc import Iterator
from pathlib import Path

from leverframe.command_line.configured import add_config, folder_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_group, add_task
from leverframe.uploads.bad_upload import BadUpload

_DESCRIPTION = """\
A web site of your own instead of the built-in pages.

  leverframe site build my-pages --output my.site   check a folder and pack it
  curl --data-binary @my.site 'http://127.0.0.1:8080/post.cgi?wwwfileupload'
  leverframe site reset --data data                 back to the built-in pages
"""


def add(commands: "Tasks[OneLineParser]") -> None:
    text = "make a web site archive, or remove an uploaded one"
    tasks = add_group(commands, "site", text, _DESCRIPTION)
    build = add_task(tasks, "build", _build, "pack a folder of pages")
    build.add_argument("folder", metavar="FOLDER", type=Path, help="has an index.html")
    build.add_argument("--output", metavar="FILE", type=Path, help="where to (default FOLDER.site)")
    text = "remove the uploaded site of a stopped controller"
    add_config(add_task(tasks, "reset", _reset, text), ("data",))


def _build(options: argparse.Namespace) -> int:
    from leverframe.uploads.site_archive import pack_site

    folder = options.folder
    output = options.output or folder.with_name(f"{folder.resolve().name}.site")
    pages = dict(_pages(folder))
    output.write_bytes(pack_site(pages))
    print(f"{output}: {len(pages)} files, {sum(map(len, pages.values()))} bytes")
    return 0


def _pages(folder: Path, above: str = "") -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir()):
        name = above + item.name
        if item.name.startswith("."):
            continue
        if item.is_symlink():
            raise BadUpload(f"{name} is a link; a site has only files.")
        if item.is_dir():
            yield from _pages(item, f"{name}/")
        else:
            yield name, item.read_bytes()


def _reset(options: argparse.Namespace) -> int:
    asyncio.run(_remove_site(folder_of(options)))
    print("The built-in pages are back.")
    return 0


async def _remove_site(data: Path) -> None:
    from leverframe.storage.datafolder import existing_folder
    from leverframe.storage.sqlite import SqliteStore
    from leverframe.storage.store import Changes

    with existing_folder(data) as folder:
        store = SqliteStore(folder.store_path)
        try:
            await store.commit(Changes(blobs={"site": None}))
        finally:
            await store.close()
