"""The command line: one file for each command, its arguments and what it starts.

Nothing that takes long to load is imported before the command that needs it runs.
"""
