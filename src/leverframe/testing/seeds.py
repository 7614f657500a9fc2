"""Where twins that name no seed get theirs: by chance, or within a test from the test's name.

So the same test makes the same twins in every run, in whatever order tests run, and however it
makes them. Importing this loads nothing else of the kit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from random import SystemRandom
from zlib import crc32

#: The names that seeds are made from, with the count of those made; the last one counts.
_sources: list[tuple[str, Iterator[int]]] = []


def new_seed() -> int:
    """Return a seed for a twin that names none."""
    if not _sources:
        return SystemRandom().getrandbits(32)
    name, numbers = _sources[-1]
    return crc32(f"{name} {next(numbers)}".encode())


@contextmanager
def seeds_from(name: str) -> Iterator[None]:
    """Make the seeds of twins that are made within this from a name."""
    source = name, count()
    _sources.append(source)
    try:
        yield
    finally:
        _sources.remove(source)
