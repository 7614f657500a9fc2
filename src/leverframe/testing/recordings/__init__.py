"""Record the traffic of a unit with a proxy, and replay a recording against another unit."""
