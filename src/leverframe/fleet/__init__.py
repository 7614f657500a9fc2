"""A node: many controllers in one process, with one front door, one API and one time."""
