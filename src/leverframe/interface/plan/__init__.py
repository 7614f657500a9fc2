"""The inverse of the commands: the requests that turn present settings into wanted ones."""
