"""The driver for PostgreSQL, which is an extra of the package."""

from collections.abc import Iterator
from contextlib import contextmanager

from leverframe.errors import ErrorForPeople


class NoDriver(ErrorForPeople):
    """The driver for the database is not installed: one sentence."""


@contextmanager
def needing_driver() -> Iterator[None]:
    """Tell people how to install it, around an import of what needs it."""
    try:
        yield
    except ImportError as error:
        raise NoDriver(
            "The driver for PostgreSQL is missing; install it with `pip install leverframe[fleet]`."
        ) from error
