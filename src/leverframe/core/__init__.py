"""The basis of all other code: versions, settings, engine, and (in `runtime`) clock and loop."""
