"""`leverframe site`: the archive of a web site, and the way back to the built-in pages."""

import argparse
import asyncio
from pathlib import Path

from leverframe.command_line.configured import add_config, folder_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_group, add_task

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
    from leverframe.maintenance.site import build_site

    build_site(options.folder, options.output)
    return 0


def _reset(options: argparse.Namespace) -> int:
    from leverframe.maintenance.site import reset_site

    asyncio.run(reset_site(folder_of(options)))
    return 0
