"""The inverse of the commands: the requests that lead from settings that are to others."""
