"""URLs put together and taken apart."""


def url_host(host: str) -> str:
    """Return a host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def split_address(url: str) -> tuple[str, str]:
    """Split into `https://host:port` and `/path?query`; without a scheme it is http."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "http", url
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path or "/"
