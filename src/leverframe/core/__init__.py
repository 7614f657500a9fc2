"""The basis of all other code: versions, settings, the engine; in `runtime`, clock and loop."""
