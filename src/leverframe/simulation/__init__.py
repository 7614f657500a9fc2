"""`leverframe simulate`: a scenario file run on virtual time, without servers."""
