"""Formats and protocols as bytes go over wires: pure coders and decoders, no input or output."""
