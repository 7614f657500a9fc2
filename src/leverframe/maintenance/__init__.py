"""The work of commands that need no running controller; the file is named after the command."""
