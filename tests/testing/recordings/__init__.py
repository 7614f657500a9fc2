"""Recording and replay over loopback ports, with clients from other projects."""
