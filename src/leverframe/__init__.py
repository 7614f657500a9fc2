"""Leverframe: a networked controller in software."""

__version__ = "0.1.0"
