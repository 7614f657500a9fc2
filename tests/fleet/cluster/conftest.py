"""The database of these tests."""

from tests.postgres_fixture import postgres

__all__ = ["postgres"]
