"""How long tests wait for what surely comes: only a hang takes so long, on however busy a machine.

A shorter limit would say that a machine is slow, not that the program is. A rule about time needs a
clock that load does not stretch: see stopwatch.py.
"""

PATIENCE_S = 60.0
