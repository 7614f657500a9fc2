"""Tests of the files that people upload."""
