"""The interface document as data, and what turns a request into staged changes. Pure."""
