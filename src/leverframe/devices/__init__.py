"""The boards: pins and buses behind a small common interface."""
