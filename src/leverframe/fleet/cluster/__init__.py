"""Several nodes on one database: which are alive, which controllers each has, and forwarding."""
