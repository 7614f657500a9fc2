"""Units in the field, real units and Leverframe, read and changed from outside."""
