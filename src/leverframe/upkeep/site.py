"""`leverframe site`: make the archive of a web site, and go back to the built-in pages.

`build` reads a folder: links are refused, files whose name begins with a dot are left out. `reset`
is for whoever has the data folder in their hands and no page to go to; the controller must be
stopped. `/?safe` reaches the built-in pages without that.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from leverframe.config import BadConfiguration, Config, read_config
from leverframe.uploads.bad_upload import BadUpload

_SITE = """\
A web site of your own instead of the built-in pages.

  leverframe site build my-pages --output my.site   check a folder and pack it
  curl --data-binary @my.site 'http://127.0.0.1:8080/post.cgi?wwwfileupload'
  leverframe site reset --data data                 back to the built-in pages
"""


def add_site(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    site = commands.add_parser(
        "site",
        help="make a web site archive, or remove an uploaded one",
        description=_SITE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tasks = site.add_subparsers(title="tasks", metavar="TASK", required=True)
    build = tasks.add_parser("build", help="pack a folder of pages")
    build.add_argument("folder", metavar="FOLDER", type=Path, help="has an index.html")
    build.add_argument("--output", metavar="FILE", type=Path, help="where to (default FOLDER.site)")
    build.set_defaults(command=_build)
    reset = tasks.add_parser("reset", help="remove the uploaded site of a stopped controller")
    reset.add_argument("--data", metavar="DIR", help=f"data folder (default ./{Config().data})")
    reset.add_argument("--config", metavar="FILE", type=Path, help="TOML file of the controller")
    reset.set_defaults(command=_reset)


def _build(options: argparse.Namespace) -> int:
    from leverframe.uploads.site_archive import pack_site

    folder = options.folder
    output = options.output or folder.with_name(f"{folder.resolve().name}.site")
    try:
        pages = dict(_pages(folder))
        output.write_bytes(pack_site(pages))
    except BadUpload as error:
        return _failed(str(error))
    except OSError as error:
        return _failed(f"{error.filename}: {error.strerror}.")
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
    from leverframe.storage.datafolder import FolderInUse, FolderUnusable
    from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew
    from leverframe.storage.store import StoreUnavailable

    try:
        config = read_config(options.config, {"data": options.data})
        asyncio.run(_remove_site(Path(config.data)))
    except (
        BadConfiguration,
        FolderInUse,
        FolderUnusable,
        StoreDamaged,
        StoreTooNew,
        StoreUnavailable,
    ) as error:
        return _failed(str(error))
    print("The built-in pages are back.")
    return 0


async def _remove_site(data: Path) -> None:
    from leverframe.storage.datafolder import DataFolder
    from leverframe.storage.sqlite import SqliteStore
    from leverframe.storage.store import Changes

    with DataFolder(data) as folder:
        store = SqliteStore(folder.store_path)
        try:
            await store.commit(Changes(blobs={"site": None}))
        finally:
            await store.close()


def _failed(sentence: str) -> int:
    print(f"leverframe: {sentence}", file=sys.stderr)
    return 1
