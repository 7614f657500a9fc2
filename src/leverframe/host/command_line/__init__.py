"""The command line: a table of commands, the parser built from it, and the entry point.

`table` lists the commands with the function of each task. The function is imported when its task
runs, so that a command does not wait for the imports of other commands. Help, the reference page,
the man page and shell completion are built from the same table.
"""
