"""`leverframe run`: set the logs up and serve one controller until it is stopped."""

import gc
from collections.abc import Callable, Coroutine
from typing import Any

from leverframe.config import Config
from leverframe.process.logs import set_up as set_up_logs

#: Containers that are new before a process of many controllers looks for garbage among them. At
#: Python's 700 it walks through the requests on their way again and again: 2 to 3 % of what 100
#: controllers with a durable change each cost.
NEW_BEFORE_A_LOOK = 10_000


def run(config: Config) -> None:
    """Run one controller, on uvloop where it is installed."""
    # A start makes hardly any garbage; looking for it takes a twentieth of the time to the first
    # answer. `serve` looks again once it serves.
    gc.disable()
    from leverframe.process.serve import serve

    set_up_logs(config.log_level, config.log_format, config.syslog)
    loop_runner()(serve(config))


def collect_rarely() -> None:
    """Collect garbage less often, for a process of many controllers."""
    gc.set_threshold(NEW_BEFORE_A_LOOK)


def loop_runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """Return what runs a coroutine on the fastest event loop that is installed."""
    # Imported here: by now no collection looks through it (see `run`).
    import asyncio

    # Nothing runs within the `except`: that the import failed would be the context of every later
    # error, also for those who look there for the cause.
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run
