"""The seed of a twin, and the call that creates the same twin again.

A twin without a seed gets a random one; within a test, the seed is derived from the name of the
test. Therefore a test creates the same twins in every run, in any order. Importing this module
loads nothing else of the kit.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from random import SystemRandom
from typing import Any
from zlib import crc32

#: Parameters that contain passwords.
SECRET = ("accounts", "mqtt")
#: A longer value is omitted, because the test contains it.
MAX_LETTERS = 80
LEFT_OUT = "..."
#: The names from which seeds are derived, each with a counter; the last name is in use.
_sources: list[tuple[str, Iterator[int]]] = []


def new_seed() -> int:
    """Return a seed for a twin that has none."""
    if not _sources:
        return SystemRandom().getrandbits(32)
    name, numbers = _sources[-1]
    return crc32(f"{name} {next(numbers)}".encode())


def is_within_test() -> bool:
    """Return whether a test or one of its fixtures is running."""
    return bool(_sources)


@contextmanager
def seeds_from(name: str) -> Iterator[None]:
    """Derive the seeds of the twins that are created within this context from a name."""
    source = name, count()
    _sources.append(source)
    try:
        yield
    finally:
        _sources.remove(source)


def write_call(call: str, parameters: Mapping[str, Any]) -> str:
    """Write a call with the parameters that differ from their defaults."""
    written = (
        f"{name}={_write_parameter(name, value)}"
        for name, value in parameters.items()
        if value is not None and value is not False and (name, value) != ("timezone", "UTC")
    )
    return f"{call}({', '.join(written)})"


def _write_parameter(name: str, value: Any) -> str:
    text = repr(value)
    return LEFT_OUT if name in SECRET or len(text) > MAX_LETTERS else text
