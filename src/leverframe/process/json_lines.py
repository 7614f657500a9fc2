"""What `run --json` tells scripts on standard output: one object a line, by its `event`."""

from collections.abc import Mapping
from typing import Any

import msgspec


def print_json(said: Mapping[str, Any]) -> None:
    print(msgspec.json.encode(said).decode(), flush=True)
