"""Why a file is not taken."""

from leverframe.errors import ErrorForPeople


class BadUpload(ErrorForPeople):
    """One sentence: which check failed, and what to do."""
