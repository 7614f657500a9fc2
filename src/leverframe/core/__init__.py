"""What everything else uses: versions, settings, the engine; in `runtime`, clock and event loop."""
