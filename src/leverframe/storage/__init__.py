"""Durable storage: settings, remembered state, uploads, and the folder that holds them."""
