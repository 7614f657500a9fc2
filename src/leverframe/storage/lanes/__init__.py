"""Storage of many controllers in one process: one thread, and transactions that they share."""
