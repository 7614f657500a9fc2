"""The program as a person starts it."""
