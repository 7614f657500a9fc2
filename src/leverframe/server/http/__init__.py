"""HTTP/1.1 as bytes: ports, connections and their limits, requests, replies."""
