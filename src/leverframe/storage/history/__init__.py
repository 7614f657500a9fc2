"""The history of a controller: every reading and state, raw for days and reduced for years.

`recorder` follows a controller on its event loop, `compactor` reduces and bounds what came, a chunk
store keeps it (`chunk_store` in memory, `sqlite_chunk_store` in a file), `reading` answers
questions about it.
"""
