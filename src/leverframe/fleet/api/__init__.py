"""The API of a node: its endpoints, and what each of them does."""
