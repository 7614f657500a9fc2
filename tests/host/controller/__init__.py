"""One controller between requests, store and engine."""
