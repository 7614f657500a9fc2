"""Files that users upload to a controller: how they are checked, unpacked and created.

The functions convert bytes to bytes, without side effects. A problem with a file raises
`BadUpload`.
"""


# The names of web site files.

FRONT_PAGE = "index.html"


def ending_of(name: str) -> str:
    """Return the extension of a file's name in lower case, or an empty text."""
    before, dot, ending = name.rpartition(".")
    return ending.lower() if dot and before and "/" not in ending else ""
