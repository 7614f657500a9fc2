"""Names and units of what has a label: the name people gave it, and the unit it is measured in."""
