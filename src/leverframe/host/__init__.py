"""The process: built from its parts, reachable, supervised, and stopped in order."""
