"""Busy controllers in processes of their own, faults around them, and what must hold all along.

    make soak ARGS="--minutes 10"
    make soak ARGS="--fleet --minutes 30"

`real_time.py` is a controller with a broker, a Modbus slave and an HTTP server beside it,
`virtual_time.py` one whose time is moved, `neighbours.py` one under attack
(`hostile_neighbour.py`). What goes wrong is in `faults.py`; what must hold, in `durable.py`,
`rules.py` and `messages.py`. `fleet.py` is a fleet on one database instead, with the faults and the
comparison of `tests/fleet/faults/`. What was seen goes to the ledger.
"""
