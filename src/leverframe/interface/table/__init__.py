"""The interface document as rows: matching, parameters, versions, rights, staging of a request."""
