"""Formats and protocols: encoders and decoders of bytes, without any I/O."""
