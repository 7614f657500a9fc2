"""The process of a controller: its assembly, its reachability, its supervision, an orderly stop."""
