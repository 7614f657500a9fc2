"""The table told to others: reference, OpenAPI, schemas of queries, examples, versions."""
