"""The command line: a table of commands, the parser made from it, and the way in.

`table` says what there is to type, and which function does each task; the function is imported when
its task is run, so that no command waits for what others need. Help, the reference page, the man
page and shell completion are made from the same table.
"""
