"""Tests of the coders and decoders of wires."""
