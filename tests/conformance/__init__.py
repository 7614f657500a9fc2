"""Tests that hold the program against the interface document."""
