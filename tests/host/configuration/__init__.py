"""What the process is told to be: by file, environment and flags."""
