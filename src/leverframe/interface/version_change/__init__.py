"""Conversion of settings between versions."""
