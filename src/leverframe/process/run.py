"""`leverframe run`: set up logging and serve one controller until it is stopped."""

import gc
from collections.abc import Callable, Coroutine
from typing import Any

from leverframe.config import Config
from leverframe.process.logs import set_up as set_up_logs

#: New containers before a process of many controllers collects garbage among them. With Python's
#: default of 700 it scans pending requests again and again: 2 to 3 % of the cost of 100 controllers
#: with a durable change each.
NEW_BEFORE_A_LOOK = 10_000


def run(config: Config) -> None:
    """Run one controller, on uvloop if it is installed."""
    # Startup creates hardly any garbage; collecting it takes a twentieth of the time to the first
    # answer. `serve` enables collection once it serves.
    gc.disable()
    from leverframe.process.serve import serve

    set_up_logs(config.log_level, config.log_format, config.syslog)
    loop_runner()(serve(config))


def collect_rarely() -> None:
    """Collect garbage less often in a process of many controllers."""
    gc.set_threshold(NEW_BEFORE_A_LOOK)


def loop_runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """Return the function that runs a coroutine on the fastest installed event loop."""
    # Imported here: by now garbage collection skips it (see `run`).
    import asyncio

    # Not within the `except`: the failed import would be the context of every later error, also for
    # code that inspects the context.
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run
