"""Formats and protocols as bytes: pure encoders and decoders without any I/O."""
