"""The address of HTTP1-HTTP4 taken apart: the server, and what is asked of it."""


def split_address(url: str) -> tuple[str, str]:
    """Split into `https://host:port` and `/path?query`; without a scheme it is http."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "http", url
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path or "/"
