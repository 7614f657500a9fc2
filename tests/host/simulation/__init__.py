"""Whole controllers on virtual time."""
