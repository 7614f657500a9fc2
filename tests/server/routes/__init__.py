"""What answers at which path."""
