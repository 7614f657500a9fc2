"""The configuration of the process: by file, environment and flags."""
