"""The operations of a node, each declared once, beside what it does."""
