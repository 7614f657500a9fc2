"""The servers: they turn bytes from the network into calls, and replies into bytes."""
