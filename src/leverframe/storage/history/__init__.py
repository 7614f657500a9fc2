"""The history of a controller: every reading and state, raw for days and reduced for years.

`rows` packs values, `chunks` stores them, `compactor` reduces and limits them, `worker` follows a
controller and runs the rest on a thread, `queries` answers queries as JSON and CSV.
"""
