"""Headers of the answers of a node, for the node and for its clients."""

#: Names the nodes whose part is missing in the answer.
SILENT_NODES = "Leverframe-Silent-Nodes"
#: Says that an answer may be old, as caches say it.
STALE = ("Warning", '110 leverframe "Response is Stale"')
