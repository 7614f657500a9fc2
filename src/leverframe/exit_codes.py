"""Exit codes, the same for every command; as of grep and diff."""

#: It is done, or the answer is yes.
DONE = 0
#: The answer is no: they differ, it is not sound, something is missing or wrong.
NO = 1
#: It could not be done, or was not understood; a line on the error output says why.
NOT_DONE = 2
INTERRUPTED = 130
#: As of a program that the shell ends because its reader has ended: `leverframe commands | head`.
NOBODY_READS = 141
