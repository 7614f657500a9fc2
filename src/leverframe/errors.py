"""The ancestor of all errors that a person can understand and put right.

The command line ends with their text, one line for each mistake; any other exception is a fault of
the program and shows where it happened.
"""


class ErrorForPeople(Exception):
    """Its text says what is wrong, what is allowed, and what to do."""
