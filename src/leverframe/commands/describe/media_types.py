"""The media types of requests and answers."""

JSON = "application/json"
XML = "text/xml"
BINARY = "application/octet-stream"
PROBLEM = "application/problem+json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain"
MULTIPART = "multipart/form-data"
