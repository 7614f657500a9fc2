"""Exchanges without a network: written down, masked, compared, given again."""
