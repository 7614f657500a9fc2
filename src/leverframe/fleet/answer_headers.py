"""Paths of a node, headers of requests and answers, and statuses within them, for both sides."""

#: The operations of a node are below this path.
PATHS = "/api/fleet"
#: Gives a request an id by which its progress is asked for.
PROGRESS = "Leverframe-Progress"
#: Names the nodes whose part is missing in the answer.
SILENT_NODES = "Leverframe-Silent-Nodes"
#: Says that the node is starting, and how many of its controllers run.
STARTING = "Leverframe-Starting"
#: Says that an answer may be old, as caches say it.
STALE = ("Warning", '110 leverframe "Response is Stale"')
#: The status of a controller that would have done it, had all the others.
NOT_DONE = 424
