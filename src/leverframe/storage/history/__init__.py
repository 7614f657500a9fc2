"""The history of a controller: every reading and state, raw for days and reduced for years.

`columns` packs values, `chunks` stores them, `compactor` reduces and bounds them, `worker` follows
a controller and runs the rest on a thread, `reading` answers questions as JSON and CSV.
"""
