"""Descriptions of the table: reference, OpenAPI, schemas of queries, examples, versions."""
