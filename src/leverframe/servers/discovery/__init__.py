"""Being found in the network: UDP discovery and mDNS."""
