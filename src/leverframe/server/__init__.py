"""The servers: they decode bytes from the network into calls, and encode the replies."""
