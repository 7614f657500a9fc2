"""Recordings made and used: the proxy that records a unit, and the replay against another one."""
