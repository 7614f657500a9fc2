"""The driver for PostgreSQL, which is an extra of the package."""

from collections.abc import Iterator
from contextlib import contextmanager

from leverframe.errors import ErrorForPeople


class NoDriver(ErrorForPeople):
    """The driver for the database is not installed: one sentence."""


@contextmanager
def needing_driver() -> Iterator[None]:
    """Turn the failed import of the driver into an error that says how to install it."""
    try:
        yield
    except ImportError as error:
        raise NoDriver(
            "The PostgreSQL driver is not installed. Install it with `pip install "
            "leverframe[fleet]`."
        ) from error
