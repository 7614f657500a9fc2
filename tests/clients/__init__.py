"""Clients of other projects, unmodified, against controllers on a loopback port."""
