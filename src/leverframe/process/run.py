"""`leverframe run`: set the logs up and serve one controller until it is stopped."""

import asyncio
import gc

from leverframe.config import Config
from leverframe.process.logs import set_up as set_up_logs


def run(config: Config) -> None:
    """Run one controller, on uvloop where it is installed."""
    # A start makes hardly any garbage; looking for it takes a twentieth of the time to the first
    # answer. `serve` looks again once it serves.
    gc.disable()
    from leverframe.process.serve import serve

    set_up_logs(config.log_level, config.log_format, config.syslog)
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(config))
    else:
        uvloop.run(serve(config))
