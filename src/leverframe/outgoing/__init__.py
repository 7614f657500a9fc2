"""Connections that a controller opens because its settings say so: where to, and how known."""
