"""The inverse of the commands: the requests that lead from the present to the desired settings."""
