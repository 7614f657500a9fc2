"""Why a file is not taken."""


class BadUpload(Exception):
    """One sentence: which check failed, and what to do."""
