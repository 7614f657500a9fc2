"""Services of the machine for all controllers: clock, event loop, log lines, bounded work."""
