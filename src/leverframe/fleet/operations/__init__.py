"""The operations of a node; each is declared once, together with its implementation."""
