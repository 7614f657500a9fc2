"""Tests of the boards and of what is around them."""
