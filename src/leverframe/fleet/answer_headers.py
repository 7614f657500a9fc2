"""Paths, headers and statuses that a node and its clients share."""

#: The operations of a node are below this path.
PATHS = "/api/fleet"
#: Assigns an id to a request, by which its progress is queried.
PROGRESS = "Leverframe-Progress"
#: Names the nodes whose part is missing in the answer.
SILENT_NODES = "Leverframe-Silent-Nodes"
#: Says that the node is starting, and how many of its controllers run.
STARTING = "Leverframe-Starting"
#: Says that an answer may be stale, as HTTP caches do.
STALE = ("Warning", '110 leverframe "Response is Stale"')
#: The status of a controller that accepted a command which other controllers rejected.
NOT_DONE = 424
