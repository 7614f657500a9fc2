"""Units in the field, real ones and Leverframe, asked and changed from outside."""
