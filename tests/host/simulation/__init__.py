"""Whole controllers in virtual time."""
