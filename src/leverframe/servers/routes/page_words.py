"""The words of pages that the program makes itself: a JSON file beside the module of a page."""

from pathlib import Path
from typing import TypeVar

import msgspec

Kind = TypeVar("Kind")


def words_beside(module: str, kind: type[Kind]) -> Kind:
    """Return the words in the JSON file beside a module, by its `__file__`."""
    return msgspec.json.decode(Path(module).with_suffix(".json").read_bytes(), type=kind)
