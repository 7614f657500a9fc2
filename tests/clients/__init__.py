"""Clients that nobody here wrote, unmodified, against controllers on a loopback port."""
