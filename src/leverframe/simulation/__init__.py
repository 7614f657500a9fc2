"""`leverframe simulate`: run a scenario file on virtual time, without servers."""
