"""`leverframe simulate`: a scenario file lived on virtual time, without servers."""
