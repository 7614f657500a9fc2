"""The ways in: servers that turn bytes from the network into calls, and answers into bytes."""
