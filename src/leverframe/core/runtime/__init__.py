"""Access to the machine, independent of controllers: clock, event loop, log lines, bounded work."""
