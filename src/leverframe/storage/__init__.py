"""Durable storage: settings, remembered state, uploads, and the data folder."""
