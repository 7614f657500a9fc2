"""What people call what has a label: the name they gave it, and the unit it is measured in."""
