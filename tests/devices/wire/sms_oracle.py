"""Another library's reader of PDUs, to judge ours by."""

import warnings

with warnings.catch_warnings():
    # The package around it is older than the Python that reads it.
    warnings.simplefilter("ignore")
    from gsmmodem.pdu import decodeSmsPdu  # type: ignore[import-untyped]

__all__ = ["decodeSmsPdu"]
