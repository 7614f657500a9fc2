"""The boards: pins and buses behind one small interface."""
