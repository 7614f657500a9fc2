"""The web page: static ES modules without a build step."""
