"""JSON Lines of `run --json` on standard output, distinguished by their `event`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from leverframe.plain_text import printable_json


def print_json(document: Mapping[str, Any]) -> None:
    print(printable_json(msgspec.json.encode(document).decode()), flush=True)
