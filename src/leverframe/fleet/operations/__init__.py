"""The operations of a node, each declared once, beside its implementation."""
