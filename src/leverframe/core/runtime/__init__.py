"""Runtime support that knows nothing of controllers: clock, event loop, log lines, bounded work."""
