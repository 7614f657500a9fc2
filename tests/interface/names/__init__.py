"""Names and units of what has a label."""
