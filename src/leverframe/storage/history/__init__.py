"""The history of a controller: all readings and states, raw for days and reduced for years.

`rows` packs values, `chunks` stores them, `compactor` reduces and limits them, `worker` records a
controller's values and runs the other modules on a thread, `queries` answers queries as JSON and
CSV.
"""
