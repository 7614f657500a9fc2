"""Requests to replies: commands, status files, the API, pages, uploads, the simulated board."""
