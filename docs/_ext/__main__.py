"""`python -m docs._ext`: write the reference, or check that it is up to date."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from docs._ext.pages import list_packaged_files, pages


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m docs._ext",
        description="Write the reference from the tables of the program.",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a page is out of date"
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(),
        help="project folder with docs and packaging (default: this folder)",
    )
    options = parser.parse_args(arguments)
    texts = {f"docs/{place}": text for place, text in pages().items()}
    texts |= {f"packaging/{place}": text for place, text in list_packaged_files().items()}
    stale = [place for place, text in texts.items() if _read(options.folder / place) != text]
    if options.check:
        return _complain(options.folder, stale)
    for place in stale:
        path = options.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[place], encoding="utf-8")
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _complain(folder: Path, stale: list[str]) -> int:
    for place in stale:
        print(f"{folder / place} is out of date; write it with: make docs", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
