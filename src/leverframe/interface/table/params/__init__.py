"""Parameter types: conversion between text on the wire and values in real units.

Each type converts in both directions (`parse`, `format`), describes the allowed texts in words and
as a JSON schema, and provides texts that must be accepted and texts that must be rejected. The
conformance tests are generated from these texts. `parse` gets the raw text, still percent-encoded,
because an encoded separator inside a text is not a separator.
"""

from leverframe.interface.table.params.compound import (
    Changed,
    Depends,
    ListOf,
    Record,
    Trailing,
    has_field,
    item_of_version,
    optional_fields,
    parse_fields,
    split_fields,
)
from leverframe.interface.table.params.numbers import (
    INT32,
    Bits,
    Flag,
    Int,
    Position,
    Scaled,
    Seconds10,
    Word,
    integer,
)
from leverframe.interface.table.params.special import (
    MAPPED_READING,
    MAPPED_SLOT,
    TIME_ZONE,
    EqualsComparison,
    I2cSelection,
    MappingItem,
    TimeZoneName,
)
from leverframe.interface.table.params.texts import (
    NOTHING_SEEN,
    Base64Text,
    OneWireId,
    Param,
    Phone,
    Seen,
    Text,
    decode_text,
    encode_text,
)

__all__ = [
    "TIME_ZONE",
    "Base64Text",
    "Bits",
    "Changed",
    "Depends",
    "EqualsComparison",
    "Flag",
    "I2cSelection",
    "INT32",
    "Int",
    "ListOf",
    "MAPPED_READING",
    "MAPPED_SLOT",
    "MappingItem",
    "NOTHING_SEEN",
    "OneWireId",
    "Param",
    "Phone",
    "Position",
    "Record",
    "Scaled",
    "Seconds10",
    "Seen",
    "Text",
    "TimeZoneName",
    "Trailing",
    "Word",
    "decode_text",
    "encode_text",
    "has_field",
    "integer",
    "item_of_version",
    "optional_fields",
    "parse_fields",
    "split_fields",
]
