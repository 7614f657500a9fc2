"""The inverse of the commands: the requests that change present settings into wanted ones."""
