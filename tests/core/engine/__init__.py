"""Tests of the engine: one file per engine file, all without a clock, a pin or a wait."""
