"""The interface document as table rows: matching, parameters, versions, rights and staging."""
