"""Tests of many controllers in one process."""
