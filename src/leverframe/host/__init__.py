"""The process of a controller: assembly, reachability, supervision and orderly shutdown."""
