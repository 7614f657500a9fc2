"""What touches the machine but knows no controller: clock, event loop, log lines, bounded work."""
