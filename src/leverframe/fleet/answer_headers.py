"""Headers of the answers of a node, for the node and for its clients."""

#: Names the nodes whose part is missing in the answer.
SILENT_NODES = "Leverframe-Silent-Nodes"
