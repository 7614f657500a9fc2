"""Commands that need no running controller; each module is named after its command."""
