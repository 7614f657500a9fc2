"""The call that makes the same twin again, as it would be written in a test."""

from collections.abc import Mapping
from typing import Any

#: Parameters in which passwords stand.
SECRET = ("accounts", "mqtt")
#: A longer value is left out: it is in the test.
MAX_LETTERS = 80
LEFT_OUT = "..."


def written_call(call: str, parameters: Mapping[str, Any]) -> str:
    """Write a call with the parameters that are not what they are without being given."""
    written = (
        f"{name}={_written(name, value)}"
        for name, value in parameters.items()
        if value is not None and value is not False and (name, value) != ("timezone", "UTC")
    )
    return f"{call}({', '.join(written)})"


def _written(name: str, value: Any) -> str:
    text = repr(value)
    return LEFT_OUT if name in SECRET or len(text) > MAX_LETTERS else text
