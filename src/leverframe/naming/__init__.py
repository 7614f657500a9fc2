"""Names and units of labels: the name from the settings, and the unit of the value."""
