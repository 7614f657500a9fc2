"""Exit statuses, the same for every command; they follow grep and diff."""

#: Success, or the answer is yes.
DONE = 0
#: The answer is no: a difference, damage, or something missing or wrong.
NO = 1
#: Failed, or the command line is wrong; a line on standard error gives the reason.
NOT_DONE = 2
INTERRUPTED = 130
#: Standard output was closed early, as in `leverframe commands | head`.
OUTPUT_CLOSED = 141
