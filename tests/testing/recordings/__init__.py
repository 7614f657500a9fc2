"""Recording and replay over loopback ports, with clients that nobody here wrote."""
