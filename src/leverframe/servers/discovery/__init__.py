"""Discovery in the network: UDP discovery and mDNS."""
