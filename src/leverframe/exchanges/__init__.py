"""Exchanges of clients with a unit: how they are recorded, masked, compared and replayed."""
