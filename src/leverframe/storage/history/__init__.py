"""The history of a controller: every reading and state, raw for days and reduced for years.

`recorder` follows a controller on its event loop, `keeper` reduces and bounds what came, a shelf
keeps it (`shelf` in memory, `sqlite_shelf` in a file), `reading` answers questions about it.
"""
