"""The inverse of the commands: the requests that lead from the current to the desired settings."""
