"""Tests of several nodes on one database."""
