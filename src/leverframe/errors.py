"""The base class of all errors that a person can understand and correct.

The command line ends with their text, one line for each mistake; any other exception is a fault of
the program and shows where it happened.
"""


class ErrorForPeople(Exception):
    """An error whose text says what is wrong, what is allowed, and what to do."""

    #: The field that it is about, where its text begins with `Field NAME: `. The command line says
    #: it as people write it there.
    field: str | None = None
