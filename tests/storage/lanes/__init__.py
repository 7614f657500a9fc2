"""The lanes of many controllers."""
