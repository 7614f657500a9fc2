"""Files that users upload to a controller: checked, unpacked, and created.

Bytes go in, bytes come out, and nothing else happens. Whatever is wrong with a file is a
`BadUpload`.
"""


# The names of the files of a web site.

FRONT_PAGE = "index.html"


def ending_of(name: str) -> str:
    """Return the text after the last dot of a file name, in lower case, if it has one."""
    before, dot, ending = name.rpartition(".")
    return ending.lower() if dot and before and "/" not in ending else ""
