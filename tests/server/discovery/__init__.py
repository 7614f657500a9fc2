"""Being found in the network."""
