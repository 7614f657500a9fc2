"""Tests of the command table and of what it is made of."""
