"""Exchanges of clients with a unit: how they are written down, masked, compared and given again."""
