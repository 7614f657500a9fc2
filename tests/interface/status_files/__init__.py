"""Tests of the status files."""
