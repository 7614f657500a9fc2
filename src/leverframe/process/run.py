"""`leverframe run`: set the logs up and serve one controller until it is stopped."""

import asyncio

from leverframe.config import Config
from leverframe.process.logs import set_up as set_up_logs
from leverframe.process.serve import serve


def run(config: Config) -> None:
    """Run one controller, on uvloop where it is installed."""
    set_up_logs(config.log_level, config.log_format, config.syslog)
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(config))
    else:
        uvloop.run(serve(config))
