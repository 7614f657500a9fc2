"""The interface document as data, and the code that turns a request into staged changes. Pure."""
